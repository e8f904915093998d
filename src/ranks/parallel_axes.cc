#include "ranks/parallel_axes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace headroom {
namespace {

/// Traffic of a group in bytes, or in collectives if the bytes of any collective were not recorded.
struct Traffic {
  double all = 0;
  double point_to_point = 0, all_to_all = 0;
  double reduced_forward = 0, reduced_behind = 0;
};

bool Reduces(std::string_view kind) {
  return kind.find("reduce") != std::string_view::npos;  // All-reduce, reduce-scatter, reduce.
}

bool IsAllToAll(std::string_view kind) {
  return kind.find("alltoall") != std::string_view::npos ||
         kind.find("all_to_all") != std::string_view::npos;
}

void Add(const RankCollective& collective, bool in_bytes, Traffic& traffic) {
  const double sent = in_bytes ? collective.bytes.value_or(0) : 1;
  traffic.all += sent;
  if (IsPointToPoint(collective.kind)) traffic.point_to_point += sent;
  if (IsAllToAll(collective.kind)) traffic.all_to_all += sent;
  if (!Reduces(collective.kind)) return;
  if (collective.phase == Phase::kForward) traffic.reduced_forward += sent;
  if (collective.phase == Phase::kBackward || collective.phase == Phase::kOptimizer)
    traffic.reduced_behind += sent;
}

void Infer(const Traffic& traffic, GroupAxis& group) {
  constexpr double kMax = 0.5, kPartsOfLayers = 0.2;
  const auto is = [&](ParallelAxis axis, std::string_view why) {
    group.axis = axis;
    group.why = why;
  };
  if (traffic.point_to_point >= kMax * traffic.all) {
    is(ParallelAxis::kPipeline, "sends between two ranks at a time");
  } else if (traffic.all_to_all >= kMax * traffic.all) {
    is(ParallelAxis::kExpert, "all-to-all");
  } else if (traffic.reduced_forward >= kPartsOfLayers * traffic.all) {
    is(ParallelAxis::kTensor, "reduces in the forward pass");
  } else if (traffic.reduced_behind > 0) {
    is(ParallelAxis::kData, "reduces only after the forward pass");
  } else {
    group.why = "neither its description nor its traffic shows the axis";
  }
}

}  // namespace

std::vector<GroupAxis> FindParallelAxes(std::span<const RankTimeline> ranks) {
  std::map<std::string, std::pair<GroupAxis, Traffic>> groups;
  std::set<std::string_view> without_bytes;
  for (const RankTimeline& rank : ranks) {
    for (const RankCollective& collective : rank.collectives) {
      if (!collective.bytes) without_bytes.insert(collective.group);
    }
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (const RankCollective& collective : ranks[r].collectives) {
      auto& [group, traffic] = groups[collective.group];
      Add(collective, !without_bytes.contains(collective.group), traffic);
      if (group.ranks.empty() || group.ranks.back() != r) group.ranks.push_back(r);
      group.members = std::max(group.members, collective.members.value_or(0));
    }
  }
  for (const RankTimeline& rank : ranks) {
    for (const RankGroup& recorded : rank.groups) {
      const auto known = groups.find(recorded.name);
      if (known == groups.end() || !recorded.axis) continue;
      GroupAxis& group = known->second.first;
      group.axis = recorded.axis;
      group.recorded = true;
      group.why = recorded.description;
    }
  }
  std::vector<GroupAxis> found;
  for (auto& [name, known] : groups) {
    auto& [group, traffic] = known;
    group.group = name;
    if (group.members == 0) group.members = static_cast<std::int64_t>(group.ranks.size());
    if (name.empty()) {
      group.why = "collectives without a recorded group, possibly of several groups";
    } else if (!group.recorded) {
      Infer(traffic, group);
    }
    found.push_back(std::move(group));
  }
  return found;
}

}  // namespace headroom
