// A model that is split over several GPUs, and the placement of its communication groups.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "network/topology.h"

namespace headroom {

/// Split of the model over the GPUs of one replica.
struct ModelParallel {
  std::int64_t tensor = 1;         ///< GPUs that share each layer.
  std::int64_t stages = 1;         ///< Stages of the layer pipeline.
  std::int64_t micro_batches = 1;  ///< Micro-batches per step in the pipeline.

  std::int64_t Gpus() const { return tensor * stages; }
};

/// Some of a job's GPUs and their links, while all other groups of the same kind communicate too.
struct GpuGroup {
  Topology topology;
  Placement placement;
};

/// Returns the group of `members` GPUs, each `stride` ranks after the previous one, with the
/// slowest links. Ranks fill one node after the other. Groups on the same nodes share the nodes'
/// uplinks. The share of a switch's uplink depends on the number of nodes in the group.
GpuGroup GroupOf(const Topology& topology, const Placement& job, std::int64_t members,
                 std::int64_t stride);

/// Ranks are numbered as in Megatron-LM: first over the GPUs that share layers, then over replicas,
/// then over stages. REQUIRES: the job has complete replicas. Returns true if every node holds only
/// complete groups of GPUs that share layers, or every such group fills its nodes.
bool FillNodes(const ModelParallel& split, const Placement& job);

GpuGroup TensorGroup(const Topology& topology, const Placement& job, const ModelParallel& split);
GpuGroup DataGroup(const Topology& topology, const Placement& job, const ModelParallel& split);

/// Time to send a batch from stage to stage, one way.
struct StageSends {
  DurationNs sum;      ///< Time over all borders between stages.
  DurationNs slowest;  ///< Time at the slowest border.
};

/// Each GPU sends the given bytes to its counterpart in the next stage. At a border between nodes,
/// all GPUs of a stage in one node share its uplink. Each link carries both directions
/// independently.
StageSends TimeBetweenStages(double bytes, const Topology& topology, const Placement& job,
                             const ModelParallel& split);

}  // namespace headroom
