// System metrics into a recording: counters on tracks of their own.
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

/// Samples on a thread of its own, at once, then each period, and once more at the end, so that a
/// program of two seconds has its metrics, too. What cannot be read is not written: missing is not
/// zero. Processes beside the recorded ones that take a notable share of the machine are named, as
/// instants `foreign_user` of the category `headroom`.
class MetricsRecorder {
 public:
  /// @param recorder  must outlive this
  MetricsRecorder(const SamplerOptions& options, Recorder* recorder);
  /// Stops.
  ~MetricsRecorder() { Stop(); }
  MetricsRecorder(const MetricsRecorder&) = delete;
  MetricsRecorder& operator=(const MetricsRecorder&) = delete;

  /// Takes the last sample. The kernel may never answer (it reads the memory maps of processes that
  /// hang in a driver): after some seconds its thread is left alone, and writes nothing any more.
  /// Returns false then.
  bool Stop();

  /// The GPUs that did not answer in time while they were asked for their metrics.
  std::vector<std::string> SilentGpus() const;

  /// A process that ran PyTorch and had not loaded what times its loop, in two samples or more;
  /// nullopt: none was seen.
  std::optional<std::int64_t> UntimedTorch() const;

 private:
  class Sampling;  ///< What the thread works on; lives as long as that does.
  std::shared_ptr<Sampling> sampling_;
  std::thread thread_;
};

}  // namespace headroom
