// A job that is known by its operators and shapes alone, on several GPUs of a kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "predict/operator_list.h"
#include "scale/pipelined_job.h"
#include "scale/scaling_curve.h"
#include "scale/work_chain.h"

namespace headroom {

/// Kernels one after the other, their times by the models of predict/; what the host needs to
/// launch them is not known. Operators run forward in the order of the list (those that are
/// repeated together, as layers, in turn) and backward in the opposite one, where each accumulation
/// makes a gradient ready. There is no optimizer in a list.
class ListedJob final : public ScalableJob {
 public:
  /// Fails (kNoAnswer) where a kernel has no model on the device, for lists without gradients
  /// (inference), for those whose parallelism is listed already, and for steps of hours.
  ///
  /// @param split  where layers are shared out or put into stages: also fails (kNoAnswer) where
  ///               there are none of a transformer, or fewer than stages
  static Result<std::unique_ptr<ListedJob>> Make(const OperatorList& list, const DeviceRates& rates,
                                                 const KernelConstants& constants,
                                                 double bucket_bytes,
                                                 const ModelParallel& split = {});

  ScaledStep OnOneGpu() override;
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return samples_; }
  std::optional<double> deviation() const override { return std::nullopt; }
  double loader_share() const override { return 0; }
  /// Of one stage; PipelinedJob makes several of it.
  ModelParallel split() const override { return {.tensor = tensor_}; }

  /// Of one GPU's step.
  double GradientBytes() const { return whole_.GradientBytes(); }
  /// Of the split that it was made with.
  const PipelineStages& stages() const { return stages_; }

 private:
  ListedJob(WorkChain whole, WorkChain shared)
      : whole_(std::move(whole)), shared_(std::move(shared)) {}

  WorkChain whole_;   ///< Of one GPU.
  WorkChain shared_;  ///< Of one of a tensor-parallel group.
  std::int64_t tensor_ = 1;
  PipelineStages stages_;
  double bucket_bytes_ = 0;
  double least_work_ = 1, most_work_ = 1;  ///< Times of kernels may be so many times as long.
  std::optional<std::int64_t> samples_;
};

}  // namespace headroom
