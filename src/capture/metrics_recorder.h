// Records system metrics as counters on separate tracks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "capture/metrics/system_sampler.h"
#include "capture/recorder.h"

namespace headroom {

/// Samples on its own thread: at once, each period, and once at the end. Even a program of two
/// seconds therefore has metrics. Omits unreadable metrics: missing is not zero.
///
/// Names other processes that use a notable share of the machine, as instants `foreign_user` of the
/// category `headroom`.
class MetricsRecorder {
 public:
  /// @param recorder  must outlive this
  MetricsRecorder(const SamplerOptions& options, Recorder* recorder);
  /// Stops sampling.
  ~MetricsRecorder() { Stop(); }
  MetricsRecorder(const MetricsRecorder&) = delete;
  MetricsRecorder& operator=(const MetricsRecorder&) = delete;

  /// Takes the last sample. Returns false if the kernel does not answer within some seconds: it
  /// reads the memory maps of processes that may hang in a driver. The thread is then detached and
  /// writes nothing more.
  bool Stop();

  /// Returns the GPUs that did not answer in time for their metrics.
  std::vector<std::string> SilentGpus() const;

  /// Returns the pid of a process that ran PyTorch without Headroom's timer in at least two
  /// samples. Returns nullopt if there was none.
  std::optional<std::int64_t> UntimedTorch() const;

 private:
  class Sampling;  ///< State of the thread; lives as long as the thread.
  std::shared_ptr<Sampling> sampling_;
  std::thread thread_;
};

}  // namespace headroom
