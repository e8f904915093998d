// Finds the GPU tasks that a blocking call waits for.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "graph/graph.h"
#include "store/trace_store.h"

namespace headroom {

/// The tasks that a call waits for.
struct HostWait {
  std::vector<GpuTaskId> tasks;
  Provenance provenance = Provenance::kInferred;
};

/// Finds the tasks that blocking calls wait for:
/// - a synchronous copy waits for itself;
/// - a call with a synchronization record waits for that record's stream;
/// - a device synchronization waits for all streams;
/// - any other call waits for the task that ended last inside the call, or if none did, for the
///   task launched last before the call.
///
/// Tasks that end after the call returns do not count.
class HostWaits {
 public:
  /// @param tasks  the tasks of the job, in order of launch
  HostWaits(const TraceStore& store, const std::vector<GpuTaskId>& tasks);

  HostWait Of(HostEventId call) const;

 private:
  /// Returns the last task of each stream launched before `when`; none for a stream without such a
  /// task.
  std::vector<GpuTaskId> LastLaunched(TimeNs when) const;
  TimeNs LaunchOf(GpuTaskId task) const;

  const TraceStore& store_;
  std::vector<std::vector<GpuTaskId>> by_stream_;  ///< In order of launch.
  std::vector<GpuTaskId> by_end_;
  std::vector<std::pair<std::int64_t, std::size_t>> records_;  ///< Correlation, row of syncs.
  std::vector<std::pair<HostEventId, GpuTaskId>> copies_;      ///< Sorted by launch.
};

}  // namespace headroom
