// Stages of a pipeline: how evenly the layers are shared out, and what waiting for each other
// takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ranks/parallel_axes.h"
#include "ranks/rank_timeline.h"

namespace headroom {

/// Means over steps and over the ranks of the stage.
struct PipelineStage {
  std::vector<std::size_t> ranks;  ///< Indices; one of each pipeline.
  DurationNs step, computing;
  DurationNs bubble;  ///< In sends and receives, while it computes nothing: waiting for neighbours.
  /// The rest in which it neither computes nor is in a collective: its host, its loader, or waits
  /// that no kernel of a receive shows.
  DurationNs idle;
};

struct Pipeline {
  std::vector<PipelineStage> stages;  ///< In order of rank within each pipeline; two or more.
  double imbalance = 0;     ///< By how much the stage that computes longest is above the mean.
  double bubble_share = 0;  ///< Of the steps' time, over all stages.
};

/// Of the groups of the axis kPipeline whose ranks are all there; nullopt: there are none, or they
/// have different lengths. Frameworks number stages as ranks, and so does this.
std::optional<Pipeline> FindPipeline(std::span<const RankTimeline> ranks,
                                     std::span<const GroupAxis> axes);

}  // namespace headroom
