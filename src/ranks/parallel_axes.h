// The parallelism axis (data, tensor, pipeline, ...) that each communicator of a job serves.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/names/group_rules.h"
#include "ranks/rank_timeline.h"

namespace headroom {

struct GroupAxis {
  std::string group;  ///< Recorded name; empty for collectives without a recorded group.
  std::optional<ParallelAxis> axis;  ///< nullopt if unknown.
  /// True if the group's description states the axis; false if its traffic implies it.
  bool recorded = false;
  std::string why;  ///< The description, or the traffic that implies the axis.
  /// Members of the group; if not recorded, the number of ranks that ran its collectives.
  std::int64_t members = 0;
  std::vector<std::size_t> ranks;  ///< Indices of the timelines that ran its collectives.
};

/// Returns the axes by group name. If no description states the axis, traffic implies it:
/// - Sends between two ranks: pipeline.
/// - All-to-alls: expert.
/// - All-reduces and reduce-scatters in the forward pass combine parts of layers, so the axis is
///   tensor. They must move at least a fifth of the group's bytes; smaller shares are statistics
///   and losses.
/// - All-reduces and reduce-scatters in the backward pass and the update combine gradients, so the
///   axis is data.
///
/// The axis of collectives without a recorded group is unknown, because they may belong to several
/// groups.
std::vector<GroupAxis> FindParallelAxes(std::span<const RankTimeline> ranks);

}  // namespace headroom
