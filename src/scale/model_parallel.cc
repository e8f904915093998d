#include "scale/model_parallel.h"

#include <algorithm>
#include <cmath>

namespace headroom {

GpuGroup GroupOf(const Topology& topology, const Placement& job, std::int64_t members,
                 std::int64_t stride) {
  const std::int64_t per_node = job.PerNode();
  const std::int64_t on_node = std::clamp<std::int64_t>(per_node / stride, 1, members);
  GpuGroup group = {.topology = topology,
                    .placement = {.gpus = members, .nodes = (members + on_node - 1) / on_node}};
  const std::int64_t beside = std::max<std::int64_t>(1, per_node / on_node);
  group.topology.between.bytes_per_ns /= static_cast<double>(beside);
  return group;
}

GpuGroup TensorGroup(const Topology& topology, const Placement& job, const ModelParallel& split) {
  return GroupOf(topology, job, split.tensor, 1);
}

GpuGroup DataGroup(const Topology& topology, const Placement& job, const ModelParallel& split) {
  return GroupOf(topology, job, job.gpus / split.Gpus(), split.tensor);
}

DurationNs TimeToNextStage(double bytes, const Topology& topology, const Placement& job,
                           const ModelParallel& split) {
  const GpuGroup pair = GroupOf(topology, job, 2, job.gpus / split.stages);
  const Link link =
      pair.placement.nodes > 1 ? pair.topology.BetweenNodes(job.nodes) : pair.topology.inside;
  return link.latency + DurationNs(std::llround(bytes / link.bytes_per_ns));
}

}  // namespace headroom
