// A job recorded on one GPU, forecast on several GPUs of another model.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/device_rates.h"
#include "predict/job_prediction.h"
#include "scale/scaling_curve.h"

namespace headroom {

/// Each GPU runs the recorded batch. Gradients are all-reduced as in DistributedDataParallel. Does
/// not determine whether bandwidth or latency of the network limits a step. REQUIRES: the job was
/// recorded on one GPU.
class PredictedJob final : public ScalableJob {
 public:
  /// All arguments must outlive the object.
  ///
  /// @param one_gpu  the step on one such GPU
  PredictedJob(const Job& job, JobPredictor& predictor, const DeviceRates& target,
               double host_factor, const PredictedMs& one_gpu);

  ScaledStep OnOneGpu() override;
  /// REQUIRES: `samples` is nullopt. For another batch, use JobPredictor::StepAtBatch().
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return samples_; }
  std::optional<double> deviation() const override { return deviation_; }
  double loader_share() const override { return 0; }

 private:
  const Job& job_;
  JobPredictor& predictor_;
  const DeviceRates& target_;
  const double host_factor_;
  const PredictedMs one_gpu_;
  const std::optional<std::int64_t> samples_;
  const std::optional<double> deviation_;
};

}  // namespace headroom
