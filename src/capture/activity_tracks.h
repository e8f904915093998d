// What a GPU did, onto the tracks of a process's recording.
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

/// Writes GPU tasks as they come. Calls, ranges and overheads lie on their thread's track, where
/// slices nest; they come in no order, so those of one Flush() are sorted first.
class ActivityTracks : public activity::Sink {
 public:
  /// All must outlive this.
  ActivityTracks(ThreadTracks* threads, const TickClock* clock, const StepGate* gate)
      : threads_(threads), clock_(clock), gate_(gate), launches_(gate) {}

  void OnGpuTask(const activity::GpuTask& task) override;
  void OnApiCall(const activity::ApiCall& call) override;
  void OnOverhead(const activity::Overhead& overhead) override;
  void OnSync(const activity::Sync& sync) override;
  void OnRange(const activity::Range& range) override;
  /// Names of threads and streams are the program's own words: not recorded.
  void OnNaming(const activity::Naming&) override {}
  /// GPU work joins its call by correlation, and calls join what is around them by time.
  void OnExternalId(const activity::ExternalId&) override {}
  void OnMessage(const activity::Message& message) override;

  /// The messages that warn, as sentences.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Whether work of the wanted steps, which are over, is still to come: at most for 10 s.
  bool Settling() const;

  /// Writes what was sorted meanwhile. Returns how many events there were since the last one, GPU
  /// tasks included.
  std::int64_t Flush();

 private:
  struct Slice {
    std::uint32_t tid;
    std::uint64_t start, end;
    TraceEncoder::Name name, category;
    std::int64_t correlation;  ///< -1: none.
  };

  struct HeldTask {
    activity::GpuTask task;
    std::string name;  ///< The task's is the decoder's.
  };

  void WriteTask(const activity::GpuTask& task);
  void AddSlice(std::uint32_t tid, std::uint64_t start, std::uint64_t end, std::string_view name,
                std::string_view category, std::int64_t correlation = -1);

  ThreadTracks* threads_;
  const TickClock* clock_;
  const StepGate* gate_;
  LaunchGate launches_;
  std::unordered_multimap<std::uint32_t, HeldTask> held_;  ///< Tasks whose launch was not told yet.
  std::vector<Slice> slices_;
  std::vector<std::string> warnings_;
  std::int64_t events_ = 0;
  TraceEncoder::Track self_track_ = 0, waits_ = 0, no_thread_ = 0;
};

}  // namespace headroom
