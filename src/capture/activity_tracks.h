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

/// Writes GPU tasks as they come. Calls, ranges and overheads go to their thread's track, where
/// slices must nest. They come in no order, so each Flush() sorts its slices first.
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
  /// Not recorded: names of threads and streams are the program's private texts.
  void OnNaming(const activity::Naming&) override {}
  /// Not needed: correlation ids link GPU work to its call, and time links calls to the ranges
  /// around them.
  void OnExternalId(const activity::ExternalId&) override {}
  void OnMessage(const activity::Message& message) override;

  /// Warnings, as sentences.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Returns true if the wanted steps are over but their work is still to come. Lasts at most 10 s.
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
  std::unordered_multimap<std::uint32_t, HeldTask>
      held_;  ///< Tasks without a recorded launch so far, by correlation.
  std::vector<Slice> slices_;
  std::vector<std::string> warnings_;
  std::int64_t events_ = 0;
  TraceEncoder::Track self_track_ = 0, waits_ = 0, no_thread_ = 0;
};

}  // namespace headroom
