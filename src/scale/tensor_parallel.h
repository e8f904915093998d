// A traced transformer whose layers are split over several GPUs.
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

/// One GPU's work in layers that a group of `ways` GPUs shares.
class TensorParallel {
 public:
  /// Fails (kNoAnswer) if the layers' width is not a multiple of `ways`. The layers must outlive
  /// the object. REQUIRES: ways >= 1.
  static Result<TensorParallel> Share(const TracedLayers& layers, std::int64_t ways);

  /// Each GPU of the group does 1/ways of the shared work, and updates its share of the parameters.
  /// A smaller product is less efficient, because its blocks leave more of the last wave unused.
  /// Each layer adds all-reduces with one launch each. The stream waits for them without overlap.
  ///
  /// @param batch_ratio  samples divided by the recorded samples
  Effect Apply(const GpuGroup& group, double batch_ratio, Edit& edit) const;

  /// By task of the graph. For a forward task: one GPU's share of the gradient of the parameter
  /// that the task's operator uses.
  const std::vector<double>& gradient_shares() const { return gradient_shares_; }
  const TracedLayers& layers() const { return layers_; }

  /// Returns shares and gradients of stages. Layer times are those of their recorded GPU tasks,
  /// with 1/ways of the shared work. Fails (kNoAnswer) if there are fewer layers than stages, or no
  /// gradients (a recording without training).
  Result<PipelineStages> Stages(std::int64_t stages) const;

  /// Removes the update and the host's work for it.
  void RemoveUpdate(Edit& edit) const;

 private:
  TensorParallel(const TracedLayers& layers, std::int64_t ways);
  double GradientShare(TaskIndex forward) const {
    return forward == kNoTask ? 1 : gradient_shares_[forward];
  }
  double UpdateShare() const;
  /// Scales the update's kernels, including kernels that scenarios put in front of them.
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
