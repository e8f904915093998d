// The layers of a traced transformer: their GPU tasks in forward and backward.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// Layers found by FindTransformerLayers() in each recorded step, with their backward.
class TracedLayers {
 public:
  /// A TensorShard of one recorded step.
  struct Shard {
    std::uint32_t first_row = 0,
                  end_row = 0;       ///< Rows of host events in its forward, including views.
    std::vector<TaskIndex> forward;  ///< GPU tasks of its forward.
    std::vector<TaskIndex> shared;   ///< Tasks of forward and backward that GPUs share.
    std::vector<TaskIndex> sums;     ///< Tasks that an all-reduce of the group follows.
    bool sums_backward = false;
  };

  /// Fails (kNoAnswer) if no shapes match transformer layers or the steps' numbers of layers
  /// differ. Also fails if the trace does not join backward to forward. The job must outlive the
  /// object.
  static Result<TracedLayers> Find(const Job& job);

  const Job& job() const { return job_; }
  double width() const { return width_; }
  /// Number of layers per step.
  std::size_t size() const { return layers_of_step_; }
  const std::vector<Shard>& shards() const { return shards_; }
  /// By task of the graph: true if GPUs that share layers share the task.
  const std::vector<bool>& is_shared() const { return is_shared_; }
  /// Returns the layer of a step that contains an operator of the forward. A layer begins with its
  /// first operator, so operators between two layers belong to the earlier one. Operators before
  /// the first layer belong to the first layer.
  std::size_t LayerOf(HostEventId forward) const;
  /// Returns the bytes that a layer passes to the next, in an edit.
  ///
  /// @param batch_ratio  samples divided by the recorded samples
  double LayerBytes(double batch_ratio, const Edit& edit) const;

 private:
  struct Forward;

  explicit TracedLayers(const Job& job);
  Status AddForwards();
  Status AddForward(const Forward& forward);
  void AddBackward();
  /// Returns the shard around a row of the forward; nullptr: none.
  Shard* ShardAround(std::uint32_t row);

  const Job& job_;
  std::vector<Shard> shards_;  ///< Sorted by row.
  std::vector<bool> is_shared_;
  std::vector<std::uint32_t> first_rows_;  ///< First rows of all layers of all steps, in order.
  std::size_t layers_of_step_ = 0;
  TaskIndex output_product_ = kNoTask;  ///< Product with the type of the data that layers pass on.
  double width_ = 0, layer_elements_ = 0, element_bytes_ = 0;
};

}  // namespace headroom
