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

/// Forecasts with the engine, which replays host, GPU and network together.
class TracedJob final : public ScalableJob {
 public:
  struct Options {
    GpusOfJob recorded;  ///< GPUs of the recorded job.
    GradientTransfer transfer = {};
    Schedule schedule = {};
    std::vector<ScenarioCall> changes = {};
    ModelParallel split = {};
    /// Layers of the split; nullptr if the split has one GPU.
    const TensorParallel* layers = nullptr;
  };

  /// All arguments must outlive the object.
  TracedJob(const Job& job, Forecaster& forecaster, Options options);

  ScaledStep OnOneGpu() override;
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return samples_; }
  std::optional<double> deviation() const override { return deviation_; }
  std::int64_t recorded_gpus() const override { return options_.recorded.placement.gpus; }
  double loader_share() const override { return loader_share_; }
  /// Split of one stage; PipelinedJob combines several stages.
  ModelParallel split() const override { return {.tensor = options_.split.tensor}; }

  /// Completes stages with the update times, and with the bytes that layers pass on, after the
  /// job's changes. REQUIRES: layers.
  PipelineStages Complete(PipelineStages stages);

 private:
  /// @param samples  samples per batch of a replica; nullopt: as recorded
  ScaledJob Scaled(const Topology& topology, const Placement& placement,
                   std::optional<std::int64_t> samples) const;
  double StepMs(const ScaledJob& scaled);
  /// Widens the interval by the ranges of the links' rates.
  void WidenByLinks(const Topology& topology, const Placement& placement,
                    std::optional<std::int64_t> samples, ScaledStep& step);
  /// Returns the time of all recorded collectives in a step.
  double CollectivesMs(const EditedPlan& edited) const;

  const Job& job_;
  Forecaster& forecaster_;
  const Options options_;
  std::optional<std::int64_t> samples_;
  std::optional<double> deviation_;
  double loader_share_ = 0;
};

}  // namespace headroom
