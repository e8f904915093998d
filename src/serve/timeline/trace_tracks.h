// Tracks of a recorded trace.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "serve/timeline/track_set.h"
#include "store/trace_store.h"
#include "whatif/job/job.h"

namespace headroom {

/// The critical path comes first. GPU streams follow, each with a lane for the causes of its idle
/// time. Then come threads by process, those with the most events first, and then counters and
/// memory. Tracks without spans are omitted.
class TraceTracks {
 public:
  /// @param store  frozen; must outlive the tracks
  /// @param job    adds a track with the critical path; null: none
  TraceTracks(const TraceStore& store, NameFacts& names, const Job* job);

  const TrackSet& set() const { return set_; }
  const SpanTable& host() const { return *host_; }
  const SpanTable& gpu() const { return *gpu_; }
  std::uint32_t LaneOf(HostEventId event) const { return host_lane_[event.index()]; }
  std::uint32_t LaneOf(GpuTaskId task) const { return gpu_lane_[task.index()]; }

 private:
  void MakeTables(NameFacts& names);
  void AddCriticalPath(const Job& job);
  void AddStreams();
  struct DeviceTime;
  /// Returns the busy time and stream count of each device, by row of the store's devices.
  std::vector<DeviceTime> FindDeviceTime() const;
  void AddIdle(StreamId stream, const DeviceTime& device);
  void AddThreads();
  void AddCounters();
  void AddMemory();

  const TraceStore& store_;
  TrackSet set_;
  SpanTable* host_ = nullptr;
  SpanTable* gpu_ = nullptr;
  std::uint32_t own_first_name_ = 0;  ///< Own names are numbered after the store's.
  std::vector<std::uint32_t> host_lane_, gpu_lane_;
};

}  // namespace headroom
