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

/// Samples on a separate thread: immediately, once per period, and at the end. Even a program that
/// runs for two seconds therefore has metrics. Omits metrics that cannot be read instead of
/// recording 0.
///
/// Records each unrelated process that uses a notable share of the machine, as an instant
/// `foreign_user` of the category `headroom`.
class MetricsRecorder {
 public:
  /// Requires that the recorder outlives this object.
  MetricsRecorder(const SamplerOptions& options, Recorder* recorder);
  /// Stops sampling.
  ~MetricsRecorder() { Stop(); }
  MetricsRecorder(const MetricsRecorder&) = delete;
  MetricsRecorder& operator=(const MetricsRecorder&) = delete;

  /// Takes the last sample and stops. Returns false if the sample takes more than 10 s, because
  /// reading the memory maps of a process that hangs in a driver can block. The thread is then
  /// detached and writes nothing more.
  bool Stop();

  /// Returns the GPUs that did not answer a metrics query in time.
  std::vector<std::string> SilentGpus() const;

  /// Returns the pid of a process that ran PyTorch without Headroom's timer in two consecutive
  /// checks; nullopt if none did.
  std::optional<std::int64_t> UntimedTorch() const;

 private:
  class Sampling;  ///< State of the thread; lives as long as the thread.
  std::shared_ptr<Sampling> sampling_;
  std::thread thread_;
};

}  // namespace headroom
