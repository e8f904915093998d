// A job as a pipeline of stages, each on other GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scale/model_parallel.h"
#include "scale/scaling_curve.h"

namespace headroom {

/// What a pipeline needs to know of a job beside its step.
struct PipelineStages {
  double largest_share = 1;  ///< Of forward and backward: of the stage that takes longest.
  /// Bytes of each, on a GPU of the stage that has most.
  std::vector<double> gradients = {};
  double layer_bytes = 0;        ///< That a stage hands to the next, of a batch of the job.
  double update_ms = 0;          ///< Of the job's step on the GPUs of one stage: the update.
  double update_share = 1;       ///< Of that, of the stage that has most gradients.
  double one_gpu_update_ms = 0;  ///< Of the step on one GPU.
};

/// A step sends `split.micro_batches` batches of the job through the stages and updates once. The
/// stage that takes longest is never without work between its first batch and its last; before and
/// behind lies what the others take of one batch: M micro-batches of time t on stages of which the
/// longest has the share s take t (1 + (M - 1) s), whether all forwards come first (Huang et al.,
/// "GPipe", NeurIPS 2019) or forward and backward take turns (Narayanan et al., "PipeDream", SOSP
/// 2019, without its stale weights). Gradients are exchanged behind the last backward; what copies
/// them into buckets is not counted.
class PipelinedJob final : public ScalableJob {
 public:
  struct Options {
    ModelParallel split;
    PipelineStages stages;
    double bucket_bytes = 0;  ///< Of an exchange; 0: each gradient by itself.
  };

  /// @param job  of one micro-batch, with the tensor parallelism of the split; outlives the object
  PipelinedJob(ScalableJob& job, Options options) : job_(job), options_(std::move(options)) {}

  ScaledStep OnOneGpu() override { return job_.OnOneGpu(); }
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return job_.samples(); }
  std::optional<double> deviation() const override { return job_.deviation(); }
  double loader_share() const override { return job_.loader_share(); }
  ModelParallel split() const override { return options_.split; }
  double update_ms() const override { return options_.stages.one_gpu_update_ms; }

 private:
  /// Of a step over a network.
  struct Times {
    double sends_ms = 0;         ///< Of a batch over all borders, one way.
    double slowest_send_ms = 0;  ///< Over one of them.
    double exchange_ms = 0;
  };
  Times TimesOver(const Topology& topology, const Placement& placement, double batch_ratio) const;
  /// @param micro_ms  a step of one micro-batch
  double StepMs(double micro_ms, const Times& times) const;

  ScalableJob& job_;
  const Options options_;
};

}  // namespace headroom
