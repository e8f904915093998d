// Where steps went: splits without overlaps that sum to the step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/values/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// What the host of one process does, over all of its threads: disjoint sets. A moment inside a
/// range or an operator has that one's phase; of several, the first of data wait, callback, host to
/// device, communication, optimizer, backward, forward. A moment between two of the same phase,
/// with nothing else in between, has that phase, too, unless both are ranges: those say themselves
/// how far they reach. (A framework's own ranges within forward and backward do not: it draws them
/// around parts.)
struct HostActivity {
  /// `data_wait` holds loaders that mark nothing, too (analysis/loop/unmarked_loading.h).
  IntervalSet data_wait, callback, host_to_device, communication, optimizer, backward, forward;
};

/// Moves this time to data_wait.
void AddUnmarkedLoading(const IntervalSet& time, HostActivity& host);

/// The activity during `span`; it may reach beyond. `process` none: all processes.
HostActivity FindHostActivity(const TraceStore& store, NameFacts& names,
                              const Attribution& attribution, ProcessId process, Interval span);

/// What the GPU does at a moment of a step. If several kinds of work run at once, the first in this
/// order counts.
enum class GpuActivity : std::uint8_t { kCompute, kCommunication, kCopyIn, kOtherCopy, kIdle };

/// A stretch of a span that counts for one GPU task, or in which the GPU is idle.
struct StepPiece {
  std::size_t span = 0;  ///< Index in `spans`.
  Interval time;
  GpuActivity activity = GpuActivity::kIdle;
  GpuTaskId task = {};  ///< None while the GPU is idle.
};

/// Calls `use` for the pieces of each span, in order of time. The pieces cover the span. If several
/// tasks of one kind run at once, the one that started first counts. Ignores other processes.
///
/// @param spans  in order of start
void ForEachPiece(const TraceStore& store, NameFacts& names, ProcessId process,
                  std::span<const Interval> spans,
                  const std::function<void(const StepPiece&)>& use);

/// Adds a piece to the breakdown of its span.
void AddPiece(const StepPiece& piece, const Attribution& attribution, const HostActivity& host,
              StepBreakdown& step);

/// Splits each span by ForEachPiece(); every nanosecond goes to the first line that holds:
///   1. a compute kernel runs: the phase that launched it (of several, the one that started first);
///   2. a communication kernel runs: communication;
///   3. a copy from host to device runs: host_to_device; another copy or a set: the phase that
///   launched it;
///   4. the GPU is idle: what the host does.
/// What is launched in the data-wait phase or by a callback counts as other work. Only tasks of
/// `process` are seen.
///
/// @param spans  in order of start; `host` is around all of them
/// @return       of each span in turn
std::vector<StepBreakdown> BreakDown(const TraceStore& store, NameFacts& names,
                                     const Attribution& attribution, const HostActivity& host,
                                     ProcessId process, std::span<const Interval> spans);

/// The mean, rounded so that its parts sum to it, with the median and the 90th percentile of each
/// part. REQUIRES: at least one.
StepBreakdown MeanOf(std::span<const StepBreakdown> steps);

}  // namespace headroom
