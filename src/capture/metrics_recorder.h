// System metrics into a recording: counters on tracks of their own.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "capture/metrics/system_sampler.h"
#include "capture/recorder.h"
#include "capture/trace_encoder.h"

namespace headroom {

/// Samples on a thread of its own, at once, then each period, and once more at the end, so that a
/// program of two seconds has its metrics, too. What cannot be read is not written: missing is not
/// zero. Processes beside the recorded ones that take a notable share of the machine are named, as
/// instants `foreign_user` of the category `headroom`.
class MetricsRecorder {
 public:
  /// @param recorder  must outlive this
  MetricsRecorder(const SamplerOptions& options, Recorder* recorder);
  /// Takes the last sample.
  ~MetricsRecorder();
  MetricsRecorder(const MetricsRecorder&) = delete;
  MetricsRecorder& operator=(const MetricsRecorder&) = delete;

 private:
  void Run();
  /// Product names of the GPUs as the program numbers them.
  void NameGpus();
  void Write(const Reading& reading);

  SystemSampler sampler_;
  DurationNs period_;
  Recorder* recorder_;
  std::vector<TraceEncoder::Track> tracks_;  ///< By metric.
  std::map<std::string, TraceEncoder::Track> instances_;
  TraceEncoder::Track users_track_ = 0;
  std::set<std::pair<std::string, std::int64_t>> named_;  ///< Resource and pid, told already.

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace headroom
