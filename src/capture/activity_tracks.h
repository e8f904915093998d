// Writes GPU activity to the tracks of a process's recording.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/activity_decoder.h"
#include "capture/launch_gate.h"
#include "capture/step_gate.h"
#include "capture/thread_tracks.h"
#include "capture/tick_clock.h"

namespace headroom {

/// Writes GPU tasks immediately. Calls, ranges and overhead go to their thread's track, where
/// slices must nest. They arrive unsorted, so Flush() sorts them first.
class ActivityTracks : public activity::Sink {
 public:
  /// Requires that all arguments outlive this object.
  ActivityTracks(ThreadTracks* threads, const TickClock* clock, const StepGate* gate)
      : threads_(threads), clock_(clock), gate_(gate), launches_(gate) {}

  void OnGpuTask(const activity::GpuTask& task) override;
  void OnApiCall(const activity::ApiCall& call) override;
  void OnOverhead(const activity::Overhead& overhead) override;
  void OnSync(const activity::Sync& sync) override;
  void OnRange(const activity::Range& range) override;
  /// Ignores names of threads and streams, because they may contain private data.
  void OnNaming(const activity::Naming&) override {}
  /// Ignores external ids: correlation ids link GPU work to its call, and times link calls to the
  /// ranges around them.
  void OnExternalId(const activity::ExternalId&) override {}
  void OnMessage(const activity::Message& message) override;

  /// Warnings for the user, as sentences.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Returns true if the wanted steps have ended but records of their GPU work may still come.
  /// Returns false from 10 s after their end.
  bool Settling() const;

  /// Sorts and writes the collected slices. Returns the number of events since the last call,
  /// including GPU tasks.
  std::int64_t Flush();

 private:
  struct Slice {
    std::uint32_t tid;
    std::uint64_t start, end;
    TraceEncoder::Name name, category;
    std::int64_t correlation;  ///< Correlation id; -1: none.
  };

  struct HeldTask {
    activity::GpuTask task;
    std::string name;  ///< Copy, because the decoder owns `task.name`.
  };

  void WriteTask(const activity::GpuTask& task);
  void AddSlice(std::uint32_t tid, std::uint64_t start, std::uint64_t end, std::string_view name,
                std::string_view category, std::int64_t correlation = -1);

  ThreadTracks* threads_;
  const TickClock* clock_;
  const StepGate* gate_;
  LaunchGate launches_;
  /// Tasks without a recorded launch so far, by correlation.
  std::unordered_multimap<std::uint32_t, HeldTask> held_;
  std::vector<Slice> slices_;
  std::vector<std::string> warnings_;
  std::int64_t events_ = 0;
  TraceEncoder::Track self_track_ = 0, waits_ = 0, no_thread_ = 0;
};

}  // namespace headroom
