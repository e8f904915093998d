// Stages of a pipeline: how evenly they share the layers, and how long they wait for each other.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ranks/parallel_axes.h"
#include "ranks/rank_timeline.h"

namespace headroom {

/// Means over the steps and the ranks of the stage.
struct PipelineStage {
  std::vector<std::size_t> ranks;  ///< Indices of the stage's ranks, one per pipeline.
  DurationNs step, computing;
  DurationNs bubble;  ///< Time in sends and receives without computing: waiting for neighbours.
  /// Remaining step time, without compute and communication. Covers the host, the data loader, and
  /// waits that no receive kernel shows.
  DurationNs idle;
};

struct Pipeline {
  std::vector<PipelineStage> stages;  ///< Sorted by rank within each pipeline; at least two.
  /// Excess of the longest computing time of a stage over the mean, as a share of the mean.
  double imbalance = 0;
  double bubble_share = 0;  ///< Bubbles of all stages, as a share of their step time.
};

/// Combines the groups of axis kPipeline whose ranks are all present. Returns nullopt if there are
/// none, if their lengths differ, or if a stage has no steps. Numbers stages by rank, as frameworks
/// do.
std::optional<Pipeline> FindPipeline(std::span<const RankTimeline> ranks,
                                     std::span<const GroupAxis> axes);

}  // namespace headroom
