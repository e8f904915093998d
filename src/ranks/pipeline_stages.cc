#include "ranks/pipeline_stages.h"

#include <algorithm>

namespace headroom {
namespace {

/// Sums over the ranks and steps of a stage.
class StageSum {
 public:
  void Add(const RankTimeline& rank) {
    for (const RankStep& step : rank.steps) {
      step_ += step.wall;
      computing_ += step.computing;
      bubble_ += step.neighbours;
      idle_ +=
          std::max(DurationNs(0), step.wall - step.computing - step.collectives - step.neighbours);
      ++steps_;
    }
  }

  /// Returns false if there is no step.
  bool Fill(PipelineStage& stage) const {
    if (steps_ == 0) return false;
    const auto mean = [&](DurationNs sum) { return DurationNs(sum.ns() / steps_); };
    stage.step = mean(step_);
    stage.computing = mean(computing_);
    stage.bubble = mean(bubble_);
    stage.idle = mean(idle_);
    return true;
  }

 private:
  DurationNs step_, computing_, bubble_, idle_;
  std::int64_t steps_ = 0;
};

}  // namespace

std::optional<Pipeline> FindPipeline(std::span<const RankTimeline> ranks,
                                     std::span<const GroupAxis> axes) {
  Pipeline pipeline;
  for (const GroupAxis& group : axes) {
    if (group.axis != ParallelAxis::kPipeline) continue;
    // Skips the group in which the first and the last stage share an embedding: it has no sends.
    const bool sends = std::any_of(group.ranks.begin(), group.ranks.end(), [&](std::size_t r) {
      return std::any_of(ranks[r].collectives.begin(), ranks[r].collectives.end(),
                         [&](const RankCollective& collective) {
                           return collective.group == group.group &&
                                  IsPointToPoint(collective.kind);
                         });
    });
    const std::size_t length = group.ranks.size();
    if (!sends) continue;
    // Several groups may share a name. Their ranks then do not form the stages of one pipeline.
    if (length < 2 || static_cast<std::int64_t>(length) != group.members) continue;
    if (pipeline.stages.empty()) pipeline.stages.resize(length);
    if (pipeline.stages.size() != length) return std::nullopt;
    for (std::size_t stage = 0; stage < length; ++stage)
      pipeline.stages[stage].ranks.push_back(group.ranks[stage]);
  }
  if (pipeline.stages.empty()) return std::nullopt;
  double longest = 0, computing = 0, bubble = 0, all = 0;
  for (PipelineStage& stage : pipeline.stages) {
    StageSum sum;
    for (const std::size_t rank : stage.ranks) sum.Add(ranks[rank]);
    if (!sum.Fill(stage)) return std::nullopt;
    const auto time = static_cast<double>(stage.computing.ns());
    longest = std::max(longest, time);
    computing += time;
    bubble += static_cast<double>(stage.bubble.ns());
    all += static_cast<double>(stage.step.ns());
  }
  if (computing > 0)
    pipeline.imbalance = longest * static_cast<double>(pipeline.stages.size()) / computing - 1;
  if (all > 0) pipeline.bubble_share = bubble / all;
  return pipeline;
}

}  // namespace headroom
