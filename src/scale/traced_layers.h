// The layers of a traced transformer: their tasks on the GPU, forward and backward.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// What FindTransformerLayers() finds in each recorded step, with its backward.
class TracedLayers {
 public:
  /// A TensorShard of one recorded step.
  struct Shard {
    std::uint32_t first_row = 0, end_row = 0;  ///< Of host events: its forward, views among them.
    std::vector<TaskIndex> forward;            ///< Its tasks.
    std::vector<TaskIndex> shared;             ///< Those of both directions that GPUs share out.
    std::vector<TaskIndex> sums;               ///< Behind each of these is a sum.
    bool sums_backward = false;
  };

  /// Fails (kNoAnswer) where no layers of a transformer are recognised by their shapes, the steps
  /// do not have as many each, or the trace does not join backward to forward. The job outlives the
  /// object.
  static Result<TracedLayers> Find(const Job& job);

  const Job& job() const { return job_; }
  double width() const { return width_; }
  /// Layers of a step.
  std::size_t size() const { return layers_of_step_; }
  const std::vector<Shard>& shards() const { return shards_; }
  /// By task of the graph: whether GPUs that share layers share it.
  const std::vector<bool>& is_shared() const { return is_shared_; }
  /// The layer, of a step's, in which an operator of the forward is. What comes before the first
  /// goes with it, and so on.
  std::size_t LayerOf(HostEventId forward) const;
  /// What a layer hands to the next, in an edit.
  ///
  /// @param batch_ratio  samples over those that were recorded
  double LayerBytes(double batch_ratio, const Edit& edit) const;

 private:
  struct Forward;

  explicit TracedLayers(const Job& job);
  Status AddForwards();
  Status AddForward(const Forward& forward);
  void AddBackward();
  /// Around a row of the forward; nullptr: none.
  Shard* ShardAround(std::uint32_t row);

  const Job& job_;
  std::vector<Shard> shards_;  ///< By row.
  std::vector<bool> is_shared_;
  std::vector<std::uint32_t> first_rows_;  ///< Of all layers of all steps, in order.
  std::size_t layers_of_step_ = 0;
  TaskIndex output_product_ = kNoTask;  ///< Whose type is that of what layers hand on.
  double width_ = 0, layer_elements_ = 0, element_bytes_ = 0;
};

}  // namespace headroom
