// A job given only by its operators and shapes, on several GPUs of one kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "network/gradient_exchange.h"
#include "predict/operator_list.h"
#include "scale/pipelined_job.h"
#include "scale/scaling_curve.h"
#include "scale/work_chain.h"

namespace headroom {

/// Runs kernels in sequence, with times from the models of predict/; the host's launch time is
/// unknown. Operators run forward in the order of the list, repeated layers one after the other,
/// and backward in reverse order. A gradient is ready after its accumulation. A list has no
/// optimizer.
class ListedJob final : public ScalableJob {
 public:
  /// Fails (kNoAnswer) if a kernel has no model on the device. Also fails for lists without
  /// gradients (inference), lists of parallel jobs, and steps longer than an hour.
  ///
  /// @param split  tensor or pipeline parallelism; with it, also fails (kNoAnswer) if the list has
  /// no transformer layers, or fewer layers than stages
  static Result<std::unique_ptr<ListedJob>> Make(const OperatorList& list, const DeviceRates& rates,
                                                 const KernelConstants& constants,
                                                 const GradientTransfer& transfer,
                                                 const ModelParallel& split = {});

  ScaledStep OnOneGpu() override;
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return samples_; }
  std::optional<double> deviation() const override { return std::nullopt; }
  double loader_share() const override { return 0; }
  /// Split of one stage; PipelinedJob combines several stages.
  ModelParallel split() const override { return {.tensor = tensor_}; }

  /// Gradient bytes per step of one GPU.
  double GradientBytes() const { return whole_.GradientBytes(transfer_); }
  /// Stages of the split given to Make().
  const PipelineStages& stages() const { return stages_; }

 private:
  ListedJob(WorkChain whole, WorkChain shared)
      : whole_(std::move(whole)), shared_(std::move(shared)) {}

  WorkChain whole_;   ///< Step of a single GPU.
  WorkChain shared_;  ///< Step of one GPU in a tensor-parallel group.
  std::int64_t tensor_ = 1;
  PipelineStages stages_;
  GradientTransfer transfer_;
  double least_work_ = 1, most_work_ = 1;  ///< Error factors on the kernel times.
  std::optional<std::int64_t> samples_;
};

}  // namespace headroom
