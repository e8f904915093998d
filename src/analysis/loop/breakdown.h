// Splits steps into parts without overlap that sum to the step.
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

/// Phases of one process's host threads, as disjoint sets. A moment inside a range or an operator
/// has its phase. If several are open, the first in this order counts: data wait, callback, host to
/// device, communication, optimizer, backward, forward.
///
/// A moment between two ranges or operators of the same phase also has that phase, if nothing else
/// runs between them. The exception is two ranges that a user marked, because their bounds are
/// exact. A framework's ranges within forward and backward are not exact: they mark only portions.
struct HostActivity {
  /// `data_wait` also includes loaders without marks (analysis/loop/unmarked_loading.h).
  IntervalSet data_wait, callback, host_to_device, communication, optimizer, backward, forward;
};

/// Moves `time` to `host.data_wait`.
void AddUnmarkedLoading(const IntervalSet& time, HostActivity& host);

/// Returns the activity during `span`. Intervals of the result may extend beyond the span. A
/// `process` of None() stands for all processes.
HostActivity FindHostActivity(const TraceStore& store, NameFacts& names,
                              const Attribution& attribution, ProcessId process, Interval span);

/// GPU activity at a moment of a step. If several kinds of work run at once, the first in this
/// order counts.
enum class GpuActivity : std::uint8_t { kCompute, kCommunication, kCopyIn, kOtherCopy, kIdle };

/// Part of a span that counts for one GPU task, or in which the GPU is idle.
struct StepPiece {
  std::size_t span = 0;  ///< Index in `spans`.
  Interval time;
  GpuActivity activity = GpuActivity::kIdle;
  GpuTaskId task = {};  ///< None() while the GPU is idle.
};

/// Calls `use` for the pieces of each span, in order of time. The pieces cover the span. If several
/// tasks of one kind run at once, the one that started first counts. Ignores other processes.
///
/// @param spans  intervals in order of start
void ForEachPiece(const TraceStore& store, NameFacts& names, ProcessId process,
                  std::span<const Interval> spans,
                  const std::function<void(const StepPiece&)>& use);

/// Adds a piece to the breakdown of its span.
void AddPiece(const StepPiece& piece, const Attribution& attribution, const HostActivity& host,
              StepBreakdown& step);

/// Splits each span by ForEachPiece(). The first rule that matches a moment decides its part:
///   1. A compute kernel runs: the phase that launched it. If several run, the one that started
///      first counts.
///   2. A communication kernel runs: communication.
///   3. A copy from host to device runs: host_to_device. Another copy or a memset: the phase that
///      launched it.
///   4. The GPU is idle: the host's phase.
/// Tasks launched in the data-wait phase or by a callback count as other work. Only tasks of
/// `process` count.
///
/// @param spans  intervals in order of start, all of them covered by `host`
/// @return       one breakdown per span
std::vector<StepBreakdown> BreakDown(const TraceStore& store, NameFacts& names,
                                     const Attribution& attribution, const HostActivity& host,
                                     ProcessId process, std::span<const Interval> spans);

/// Returns the mean, rounded so that its parts sum to it, with the median and the 90th percentile
/// of each part. Requires at least one step.
StepBreakdown MeanOf(std::span<const StepBreakdown> steps);

}  // namespace headroom
