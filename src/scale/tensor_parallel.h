// A traced transformer whose layers several GPUs share out.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "scale/model_parallel.h"
#include "scale/pipelined_job.h"
#include "scale/traced_layers.h"
#include "sim/edit.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// What one of `ways` GPUs, 1 or more, does of each layer.
class TensorParallel {
 public:
  /// Fails (kNoAnswer) where the layers' width is no multiple of `ways`. The layers outlive the
  /// object.
  static Result<TensorParallel> Share(const TracedLayers& layers, std::int64_t ways);

  /// Each GPU of the group does 1/ways of what is shared out, a product of it less well, as its
  /// blocks fill their last wave badly; and of the update, what it has of the parameters. Sums are
  /// all-reduces on which the stream waits, with a launch each; nothing runs beside them.
  ///
  /// @param batch_ratio  samples over those that were recorded
  Effect Apply(const GpuGroup& group, double batch_ratio, Edit& edit) const;

  /// By task of the graph: what a GPU has of the gradient of a parameter that a forward operator
  /// with this first task uses.
  const std::vector<double>& gradient_shares() const { return gradient_shares_; }
  const TracedLayers& layers() const { return layers_; }

  /// Shares and gradients of stages; the layers' times are those of their GPU tasks as recorded,
  /// with 1/ways of what is shared. Fails (kNoAnswer) where there are fewer layers than stages, or
  /// no gradients: stages are of training.
  Result<PipelineStages> Stages(std::int64_t stages) const;

  /// No update, nor the host's work for it.
  void RemoveUpdate(Edit& edit) const;

 private:
  TensorParallel(const TracedLayers& layers, std::int64_t ways);
  double GradientShare(TaskIndex forward) const {
    return forward == kNoTask ? 1 : gradient_shares_[forward];
  }
  double UpdateShare() const;
  /// Gives the update's kernels, those that scenarios put in front of them among them, such a share
  /// of their work.
  void ScaleUpdate(double share, Edit& edit) const;
  void InsertSum(TaskIndex behind, const GpuGroup& group, double bytes, std::uint32_t channel,
                 Edit& edit) const;

  const TracedLayers& layers_;
  const Job& job_;
  double ways_;
  std::vector<OptimizerStep> updates_;
  std::vector<double> gradient_shares_;
};

}  // namespace headroom
