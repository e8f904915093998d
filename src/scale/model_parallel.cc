#include "scale/model_parallel.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

/// Returns the node of a rank. Ranks fill one node after the other.
std::int64_t NodeOf(std::int64_t rank, const Placement& job) { return rank / job.PerNode(); }

/// Returns a group's link over `reach` nodes. Divides each node's uplink by the number of groups
/// that share it.
Link SharedLink(const Topology& topology, std::int64_t reach, std::int64_t beside) {
  Link link = topology.BetweenNodes(reach);
  link.bytes_per_ns /= static_cast<double>(std::max<std::int64_t>(1, beside));
  return link;
}

}  // namespace

bool FillNodes(const ModelParallel& split, const Placement& job) {
  const std::int64_t per_node = job.PerNode();
  return job.nodes == 1 || per_node % split.tensor == 0 || split.tensor % per_node == 0;
}

GpuGroup GroupOf(const Topology& topology, const Placement& job, std::int64_t members,
                 std::int64_t stride) {
  GpuGroup group = {.topology = topology, .placement = {.gpus = members, .nodes = 1}};
  std::int64_t reach = 1;
  // The groups within a block of ranks are equivalent. The block with the slowest links determines
  // the time.
  const std::int64_t block = members * stride;
  for (std::int64_t first = 0; first + block <= job.gpus; first += block) {
    const std::int64_t last = first + (members - 1) * stride;
    const std::int64_t spans = NodeOf(last, job) - NodeOf(first, job) + 1;
    group.placement.nodes = std::max(group.placement.nodes, std::min(spans, members));
    reach = std::max(reach, spans);
  }
  group.topology.between = SharedLink(topology, reach, job.PerNode() / group.placement.PerNode());
  group.topology.nodes_of_switch.reset();
  return group;
}

GpuGroup TensorGroup(const Topology& topology, const Placement& job, const ModelParallel& split) {
  return GroupOf(topology, job, split.tensor, 1);
}

GpuGroup DataGroup(const Topology& topology, const Placement& job, const ModelParallel& split) {
  return GroupOf(topology, job, job.gpus / split.Gpus(), split.tensor);
}

StageSends TimeBetweenStages(double bytes, const Topology& topology, const Placement& job,
                             const ModelParallel& split) {
  const std::int64_t stage = job.gpus / split.stages;  // GPUs per stage.
  const std::int64_t per_node = job.PerNode();
  const auto time_over = [&](const Link& link) {
    return link.latency + DurationNs(std::llround(bytes / link.bytes_per_ns));
  };
  const DurationNs inside = time_over(topology.inside);
  const DurationNs between = time_over(
      SharedLink(topology, (stage + per_node - 1) / per_node + 1, std::min(stage, per_node)));
  StageSends sends;
  for (std::int64_t border = 0; border + 1 < split.stages; ++border) {
    // False only if all GPUs of both stages are in one node.
    const bool crosses = NodeOf(border * stage, job) != NodeOf((border + 2) * stage - 1, job);
    const DurationNs time = crosses ? between : inside;
    sends.sum += time;
    sends.slowest = std::max(sends.slowest, time);
  }
  return sends;
}

}  // namespace headroom
