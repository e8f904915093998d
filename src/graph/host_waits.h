// Which GPU tasks a blocking call waits for, and what it costs without them.
#pragma once

#include <vector>

#include "analysis/names/name_facts.h"
#include "graph/graph.h"
#include "store/trace_store.h"

namespace headroom {

/// What a call waits for.
struct HostWait {
  std::vector<GpuTaskId> tasks;
  Provenance provenance = Provenance::kInferred;
};

/// Finds what blocking calls wait for: a synchronous copy for itself; a call with a synchronization
/// record for that record's stream; a device synchronization for all streams; any other for the
/// task that ended last inside the call. Tasks that end after the call returns are not waited for.
class HostWaits {
 public:
  /// @param tasks  those of the job, in order of launch
  HostWaits(const TraceStore& store, const std::vector<GpuTaskId>& tasks);

  HostWait Of(HostEventId call) const;

 private:
  /// The last task of each stream launched before `when`; none where the stream has none.
  std::vector<GpuTaskId> LastLaunched(TimeNs when) const;
  TimeNs LaunchOf(GpuTaskId task) const;

  const TraceStore& store_;
  std::vector<std::vector<GpuTaskId>> by_stream_;  ///< In order of launch.
  std::vector<GpuTaskId> by_end_;
  std::vector<std::pair<std::int64_t, std::size_t>> records_;  ///< Correlation, row of syncs.
  std::vector<std::pair<HostEventId, GpuTaskId>> copies_;      ///< By launch.
};

}  // namespace headroom
