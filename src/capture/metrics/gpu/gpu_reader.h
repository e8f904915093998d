// Reads the GPUs of this machine on separate threads, because a failing driver may never answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/gpu/gpu_probes.h"

namespace headroom {

/// Time limits for a driver.
struct GpuPatience {
  /// An idle driver first initializes its GPUs, which takes seconds. Its metrics are then added
  /// late.
  DurationNs to_open{2'000'000'000};
  DurationNs to_read{2'000'000'000};  ///< Eight GPUs take less than a second.
};

class GpuReader : public MetricSource {
 public:
  /// Opens a vendor's library. Returns null if the library is missing.
  using Open = std::function<std::unique_ptr<GpuSource>()>;

  /// Returns when the library is open, or after patience.to_open. If the library is not open by
  /// then, its metrics are added later.
  explicit GpuReader(Open open, MetricBoard& board, GpuPatience patience = GpuPatience());
  /// Closes the library. Detaches threads that are blocked in the driver.
  ~GpuReader() override;
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  /// GPUs in the program's order.
  const std::vector<GpuIdentity>& gpus() const { return gpus_; }

  /// Takes at most twice patience.to_read, even if several GPUs do not answer. A GPU that did not
  /// answer in time is then read on a separate thread without waiting. Its metrics are missing
  /// until it has answered in time once.
  void Read(SampleRun& run) override;

  /// GPUs that did not answer the last sample in time: "GPU 1". Contains "the GPUs' driver" if the
  /// driver is not open yet.
  const std::vector<std::string>& silent() const { return silent_; }

  /// CPU time of the reading threads, up to their last completed readings.
  DurationNs cpu_time() const { return cpu_time_; }

 private:
  class Work;  ///< State of the threads; lives as long as they do.

  /// Adds the available metrics to the sampler's board.
  void Join(MetricBoard& board);

  std::shared_ptr<Work> work_;
  /// Ids on the sampler's board, by part and metric.
  std::vector<std::vector<MetricBoard::Id>> ids_;
  std::vector<GpuIdentity> gpus_;
  std::vector<std::string> silent_;
  DurationNs cpu_time_;
  GpuPatience patience_;
  bool open_ = false;
};

}  // namespace headroom
