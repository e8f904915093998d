// The GPUs of this machine, read on threads of their own: a driver in trouble may never answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/gpu/gpu_probes.h"

namespace headroom {

/// How long a driver is waited for.
struct GpuPatience {
  /// One that nobody uses starts its GPUs first, which takes seconds; it then joins late.
  DurationNs to_open{2'000'000'000};
  DurationNs to_read{2'000'000'000};  ///< Eight GPUs take less than a second.
};

class GpuReader : public MetricSource {
 public:
  /// Opens a vendor's library; null: there is none here.
  using Open = std::function<std::unique_ptr<GpuSource>()>;

  /// Returns when the library is open, or after patience.to_open: its metrics then join when it
  /// answers.
  explicit GpuReader(Open open, MetricBoard& board, GpuPatience patience = GpuPatience());
  /// Closes the library. Leaves threads that wait for their driver alone.
  ~GpuReader() override;
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  /// In the order in which the program numbers them.
  const std::vector<GpuIdentity>& gpus() const { return gpus_; }

  /// Takes twice patience.to_read at most, however many GPUs do not answer. One that did not is
  /// asked on a thread of its own and not waited for until it has answered in time once: its
  /// metrics are missing until then.
  void Read(SampleRun& run) override;

  /// Who was asked for the last sample, or one before, and had not answered in time: "GPU 1", or
  /// "the GPUs' driver" where it was not open yet.
  const std::vector<std::string>& silent() const { return silent_; }

  /// Processor time of its threads, up to the last readings that came back.
  DurationNs cpu_time() const { return cpu_time_; }

 private:
  class Work;  ///< What the threads work on; lives as long as they do.

  /// Adds the metrics that there are to the sampler's board.
  void Join(MetricBoard& board);

  std::shared_ptr<Work> work_;
  std::vector<std::vector<MetricBoard::Id>> ids_;  ///< On the sampler's board, by part and metric.
  std::vector<GpuIdentity> gpus_;
  std::vector<std::string> silent_;
  DurationNs cpu_time_;
  GpuPatience patience_;
  bool open_ = false;
};

}  // namespace headroom
