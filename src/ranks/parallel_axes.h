// Which axis of a job's parallelism each of its communicators serves: data, tensor, pipeline, ...
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
  std::string group;                 ///< As recorded; empty: of collectives that tell none.
  std::optional<ParallelAxis> axis;  ///< nullopt: cannot be told.
  bool recorded = false;             ///< By its description; else by what it sends.
  std::string why;                   ///< The description, or what it sends.
  std::int64_t members = 0;          ///< Of the group; the ranks that ran it, where it is not told.
  std::vector<std::size_t> ranks;    ///< Indices of the timelines that ran it.
};

/// By name. Where no description tells: groups that send between two ranks are of a pipeline;
/// all-to-alls are of experts; all-reduces and reduce-scatters that the forward calls join parts of
/// layers, from a fifth of the group's bytes on (smaller ones are statistics and losses); those of
/// the backward and the update join gradients. Collectives that tell no group may be of several.
std::vector<GroupAxis> FindParallelAxes(std::span<const RankTimeline> ranks);

}  // namespace headroom
