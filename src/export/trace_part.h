// A part of a trace as a trace of its own, to be kept as a file: what is cut through stays whole.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Rows that are in the part, before what they belong to is added.
struct PartChoice {
  /// On the trace's clock, the end not included; absent: all of it.
  std::optional<Interval> window;
  /// Of a file that `headroom merge` made: processes named "rank 2", "rank 2: ..." or
  /// "rank 2 on ...". Absent: all.
  std::optional<std::int64_t> rank;
};

/// Ranks whose processes a file holds, in order: of one that `headroom merge` made. Else none.
std::vector<std::int64_t> RanksOfProcesses(const TraceStore& store);

/// Whether any process is named so.
bool HasProcessesOfRank(const TraceStore& store, std::int64_t rank);

/// Spans and tasks that overlap the window, whole. With a GPU task its launch and what that lies
/// in, with a launch its tasks, with one end of an arrow the others; of counters also the last
/// sample before the window, so that curves begin with it. Annotated steps only where they overlap
/// the window, so that no piece of another counts as one. Processes, threads, devices and streams
/// keep their numbers.
///
/// REQUIRES: `store` is frozen. O(rows).
std::unique_ptr<TraceStore> PartOf(const TraceStore& store, const PartChoice& choice);

}  // namespace headroom
