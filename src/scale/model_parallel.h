// A model that several GPUs hold together, and where the groups lie in which they communicate.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "network/topology.h"

namespace headroom {

/// How the GPUs of one replica of a model share it.
struct ModelParallel {
  std::int64_t tensor = 1;         ///< GPUs that share each layer.
  std::int64_t stages = 1;         ///< Of a pipeline of layers.
  std::int64_t micro_batches = 1;  ///< That go through the pipeline in a step.

  std::int64_t Gpus() const { return tensor * stages; }
};

/// Some of a job's GPUs and what connects them, while all other groups of their kind communicate,
/// too.
struct GpuGroup {
  Topology topology;
  Placement placement;
};

/// `members` GPUs of a job, each `stride` ranks from the next, as the group of them that lies
/// worst; ranks fill one node after the other. Groups that have members on the same nodes share
/// what leaves those, and what leaves a switch is that of the nodes that they reach over.
GpuGroup GroupOf(const Topology& topology, const Placement& job, std::int64_t members,
                 std::int64_t stride);

/// The GPUs that share layers are neighbours; then come those that hold the same part of other
/// replicas, and stages last, as Megatron-LM numbers ranks. REQUIRES: the job has whole replicas.
/// Whether no group that shares layers has GPUs on a node that it does not fill with its like.
bool FillNodes(const ModelParallel& split, const Placement& job);

GpuGroup TensorGroup(const Topology& topology, const Placement& job, const ModelParallel& split);
GpuGroup DataGroup(const Topology& topology, const Placement& job, const ModelParallel& split);

/// What sending a batch from stage to stage takes, one way.
struct StageSends {
  DurationNs sum;      ///< Over all borders between stages.
  DurationNs slowest;  ///< Of them.
};

/// Each GPU sends so many bytes to the one at its place in the next stage. Over a border between
/// nodes, all GPUs of a stage that are on one share what leaves it; each way is a link's own.
StageSends TimeBetweenStages(double bytes, const Topology& topology, const Placement& job,
                             const ModelParallel& split);

}  // namespace headroom
