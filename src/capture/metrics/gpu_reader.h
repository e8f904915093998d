// The GPUs of this machine, read on a thread of their own: a driver in trouble may never answer.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/time.h"
#include "capture/metrics/gpu_probes.h"
#include "capture/metrics/metric_source.h"

namespace headroom {

/// How long a driver is waited for.
struct GpuPatience {
  /// One that nobody uses starts its GPUs first, which takes seconds; it then joins late.
  DurationNs to_open{2'000'000'000};
  DurationNs to_read{2'000'000'000};  ///< Eight GPUs take less than a second.
};

class GpuReader : public MetricSource {
 public:
  /// Opens a vendor's library and adds its metrics to the board; null: there is none here.
  using Open = std::function<std::unique_ptr<GpuSource>(MetricBoard& board)>;

  /// Returns when the library is open, or after patience.to_open: its metrics then join when it
  /// answers.
  explicit GpuReader(Open open, MetricBoard& board, GpuPatience patience = GpuPatience());
  /// Closes the library. Leaves a thread that waits for its driver alone.
  ~GpuReader() override;
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  /// In the order in which the program numbers them.
  const std::vector<GpuIdentity>& gpus() const { return gpus_; }

  /// Waits for patience.to_read once; as long as that reading lasts, the metrics are missing and
  /// nothing waits.
  void Read(SampleRun& run) override;

  /// Whether the driver was asked and has not answered yet, for longer than it should take.
  bool silent() const { return silent_; }

  /// Processor time of its thread, up to the last reading that came back.
  DurationNs cpu_time() const { return cpu_time_; }

 private:
  class Work;  ///< What the thread works on; lives as long as that does.

  /// Adds the metrics that there are to the sampler's board. REQUIRES: the thread is idle.
  void Join(MetricBoard& board);

  std::shared_ptr<Work> work_;
  std::thread thread_;
  std::vector<MetricBoard::Id> ids_;  ///< On the sampler's board, by metric of the thread's.
  std::vector<GpuIdentity> gpus_;
  DurationNs cpu_time_;
  GpuPatience patience_;
  bool silent_ = false;
};

}  // namespace headroom
