// A traced transformer whose layers several GPUs share out, and its layers as stages.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "scale/model_parallel.h"
#include "scale/stage_partition.h"
#include "sim/edit.h"
#include "whatif/job.h"
#include "whatif/optimizer_steps.h"
#include "whatif/scenario.h"

namespace headroom {

/// What FindTransformerLayers() finds in each recorded step, with its backward. Experimental: held
/// against one published measurement, and that by a list of operators.
class TensorParallel {
 public:
  /// Fails (kNoAnswer) where no layers of a transformer are recognised by their shapes, the trace
  /// does not join backward to forward, or the layers' width is no multiple of `ways`. The job
  /// outlives the object.
  static Result<TensorParallel> Find(const Job& job, std::int64_t ways);

  /// Each GPU of the group does 1/ways of what is shared out, a product of it less well, as its
  /// blocks fill their last wave badly; and of the update, what it has of the parameters. Sums are
  /// all-reduces on which the stream waits, with a launch each; nothing runs beside them.
  ///
  /// @param batch_ratio  samples over those that were recorded
  Effect Apply(const GpuGroup& group, double batch_ratio, Edit& edit) const;

  /// By task of the graph: what a GPU has of the gradient of a parameter that a forward operator
  /// with this first task uses.
  const std::vector<double>& gradient_shares() const { return gradient_shares_; }

  /// The layers' times are those of their GPU tasks as recorded, with 1/ways of what is shared.
  /// Fails (kNoAnswer) where there are fewer layers than stages.
  Result<PipelineStages> Stages(std::int64_t stages) const;

  /// No update, nor the host's work for it.
  void RemoveUpdate(Edit& edit) const;

 private:
  /// Rows of host events.
  struct Rows {
    std::uint32_t first = 0, last = 0;  ///< One past.
  };
  /// A TensorShard of one recorded step.
  struct Shard {
    Rows rows;                   ///< Of its forward, views among them.
    std::vector<TaskIndex> sum;  ///< That each have a sum behind them.
    bool sums_backward = false;
    std::vector<TaskIndex> shared;  ///< Tasks of both directions.
  };
  struct Forward;

  TensorParallel(const Job& job, std::int64_t ways);
  Status AddForwards();
  Status AddForward(const Forward& forward);
  void AddBackward();
  /// Around a row of the forward; nullptr: none.
  Shard* ShardAround(std::uint32_t row);
  /// Of a step's, the one in which a row of the forward is.
  std::size_t LayerOf(HostEventId forward) const;
  double UpdateShare() const;
  /// Bytes that are summed behind a shard.
  double SumBytes(double batch_ratio, const Edit* edit) const;
  void InsertSum(TaskIndex behind, const GpuGroup& group, double bytes, std::uint32_t channel,
                 Edit& edit) const;

  const Job& job_;
  double ways_;
  std::vector<OptimizerStep> updates_;
  std::vector<Shard> shards_;          ///< By row.
  std::vector<std::uint32_t> layers_;  ///< First rows of all layers of all steps, in order.
  std::size_t layers_of_step_ = 0;
  TaskIndex summed_product_ = kNoTask;  ///< Whose type the sums have.
  double sum_elements_ = 0, element_bytes_ = 0;
  std::vector<double> gradient_shares_;
};

}  // namespace headroom
