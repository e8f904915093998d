// A job as a pipeline of stages on different GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scale/model_parallel.h"
#include "scale/scaling_curve.h"

namespace headroom {

/// Properties of a job that a pipeline needs in addition to its step.
struct PipelineStages {
  double largest_share = 1;  ///< Share of the longest stage in forward and backward.
  /// Bytes of each gradient, on a GPU of the stage with the most.
  std::vector<double> gradients = {};
  double layer_bytes = 0;        ///< Bytes that a stage sends to the next for one batch of the job.
  double update_ms = 0;          ///< Time of the update in the job's step on the GPUs of one stage.
  double update_share = 1;       ///< Share of that update in the stage with the most gradients.
  double one_gpu_update_ms = 0;  ///< Time of the update in the step on one GPU.
};

/// A step sends `split.micro_batches` batches through the stages and updates once. The longest
/// stage works without gaps from its first batch to its last. Before and after, the step takes the
/// other stages' time for one batch. M micro-batches of time t, with a share s for the longest
/// stage, take t (1 + (M - 1) s). This holds if all forwards come first (Huang et al., "GPipe",
/// NeurIPS 2019). It also holds if forward and backward alternate (Narayanan et al., "PipeDream",
/// SOSP 2019, without its stale weights). The exchange of gradients follows the last backward.
/// Ignores the copies into buckets.
class PipelinedJob final : public ScalableJob {
 public:
  struct Options {
    ModelParallel split;
    PipelineStages stages;
    double bucket_bytes = 0;  ///< Bytes per exchange; 0: each gradient separately.
  };

  /// @param job  the job with one micro-batch and the tensor parallelism of the split; must outlive
  /// the object
  PipelinedJob(ScalableJob& job, Options options) : job_(job), options_(std::move(options)) {}

  ScaledStep OnOneGpu() override { return job_.OnOneGpu(); }
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return job_.samples(); }
  bool overlaps_on_device() const override { return job_.overlaps_on_device(); }
  std::optional<double> deviation() const override { return job_.deviation(); }
  double loader_share() const override { return job_.loader_share(); }
  ModelParallel split() const override { return options_.split; }
  double update_ms() const override { return options_.stages.one_gpu_update_ms; }

 private:
  /// Network times of a step.
  struct Times {
    double sends_ms = 0;         ///< Time to send a batch over all borders, one way.
    double slowest_send_ms = 0;  ///< Time to send a batch over the slowest border.
    double exchange_ms = 0;
  };
  Times TimesOver(const Topology& topology, const Placement& placement, double batch_ratio) const;
  /// @param micro_ms  time of a step with one micro-batch
  double StepMs(double micro_ms, const Times& times) const;

  ScalableJob& job_;
  const Options options_;
};

}  // namespace headroom
