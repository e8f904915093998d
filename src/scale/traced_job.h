// A job on GPUs, from its trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scale/exchange_change.h"
#include "scale/pipelined_job.h"
#include "scale/scaling_curve.h"
#include "whatif/forecast.h"

namespace headroom {

/// Asks the engine, which has the host, the GPU and the network on one plan.
class TracedJob final : public ScalableJob {
 public:
  struct Options {
    GpusOfJob recorded;  ///< Where it ran.
    double bucket_bytes = kBucketBytes;
    Schedule schedule = {};
    std::vector<ScenarioCall> changes = {};
    ModelParallel split = {};
    /// Of the split; nullptr where it is of one GPU.
    const TensorParallel* layers = nullptr;
  };

  /// All outlive it.
  TracedJob(const Job& job, Forecaster& forecaster, Options options);

  ScaledStep OnOneGpu() override;
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return samples_; }
  std::optional<double> deviation() const override { return deviation_; }
  std::int64_t recorded_gpus() const override { return options_.recorded.placement.gpus; }
  double loader_share() const override { return loader_share_; }
  /// Of one stage; PipelinedJob makes several of it.
  ModelParallel split() const override { return {.tensor = options_.split.tensor}; }

  /// Of the split's stages, what the job's changes make of it: updates and what layers hand on.
  /// REQUIRES: layers.
  PipelineStages Complete(PipelineStages stages);

 private:
  /// @param samples  as of On()
  ScaledJob Scaled(const Topology& topology, const Placement& placement,
                   std::optional<std::int64_t> samples) const;
  double StepMs(const ScaledJob& scaled);
  /// Of a step, all recorded collectives.
  double CollectivesMs(const EditedPlan& edited) const;

  const Job& job_;
  Forecaster& forecaster_;
  const Options options_;
  std::optional<std::int64_t> samples_;
  std::optional<double> deviation_;
  double loader_share_ = 0;
};

}  // namespace headroom
