// Extracts a part of a trace as a separate trace, which can be saved as a file. Spans at the edges
// stay whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Selects rows. PartOf() then adds the rows that these refer to.
struct PartChoice {
  /// Half-open interval on the trace's clock; nullopt: the whole trace.
  std::optional<Interval> window;
  /// Rank in a file from `headroom merge`, with processes named "rank 2", "rank 2: ..." or "rank 2
  /// on ..."; nullopt: all ranks.
  std::optional<std::int64_t> rank;
};

/// Returns the ranks in a file from `headroom merge`, in order; empty for other files.
std::vector<std::int64_t> RanksOfProcesses(const TraceStore& store);

/// Returns true if any process name contains this rank.
bool HasProcessesOfRank(const TraceStore& store, std::int64_t rank);

/// Returns the spans and tasks that overlap the window, without truncating them. Adds rows that
/// belong to them:
/// - for a GPU task, its launch and the events around the launch;
/// - for a launch, its tasks;
/// - for one end of an arrow, the other ends;
/// - for counters, the last sample before the window, so that curves begin with it.
///
/// Keeps annotated steps only if they overlap the window, so that no fragment of another step
/// counts as a step. Processes, threads, devices and streams keep their numbers.
///
/// REQUIRES: `store` is frozen. O(rows).
std::unique_ptr<TraceStore> PartOf(const TraceStore& store, const PartChoice& choice);

}  // namespace headroom
