#include "answers/report/ranks_phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "render/number_format.h"

namespace headroom {
namespace {

constexpr double kPercent = 100;

/// Returns "every step" or "10 of 12 steps": those in which each of the stragglers was a culprit.
std::string StepsOfStragglers(const JobWaits& waits) {
  std::int64_t steps = waits.steps;
  for (const std::size_t rank : waits.stragglers)
    steps = std::min(steps, waits.ranks[rank].culprit);
  return steps == waits.steps ? "every step"
                              : fmt::format("{} of {}", steps, Plural(waits.steps, "step"));
}

std::string WhoIsLate(const JobRanks& job) {
  const JobWaits& waits = job.waits;
  std::string lost = FormatTime(waits.lost);
  if (waits.lost_share) {
    lost += fmt::format(" of {} ({})", Plural(waits.steps, "step"),
                        FormatPercent(kPercent * *waits.lost_share));
  }
  const std::string below = fmt::format("Differences below {} are not resolved.",
                                        FormatTime(DurationNs(2 * waits.uncertainty.ns())));
  const bool one = waits.stragglers.size() == 1;
  std::string who = LateRanks(job);
  if (!waits.straggler_host.empty())
    who += fmt::format(" ({}on {})", one ? "" : "all ", waits.straggler_host);
  switch (waits.pattern) {
    case StragglerPattern::kNone:
      if (waits.classes.empty())
        return "Waits between ranks are unknown: no collective could be matched across ranks.";
      if (!waits.lost_share)
        return fmt::format(
            "Late ranks cost {}. Without steps, it is unknown whether one rank is always late. {}",
            lost, below);
      if (*waits.lost_share >= kWorthNaming) {
        return fmt::format(
            "No rank causes the delay: the ranks that arrived last were waiting for other ranks. "
            "The job loses {}. {}",
            lost, below);
      }
      return fmt::format("No rank holds the others up for long: {} lost. {}", lost, below);
    case StragglerPattern::kRecurrent:
      return fmt::format("{} {} the others up in {}: the job loses {}. {}", who,
                         one ? "holds" : "hold", StepsOfStragglers(waits), lost, below);
    case StragglerPattern::kRotating:
      return fmt::format(
          "A different rank is last each time: the job loses {}.{} {}", lost,
          job.late.why.empty() ? " Typical causes: uneven data, a noisy machine." : "", below);
    case StragglerPattern::kOnce:
      return fmt::format(
          "{} held the others up in one step: {} lost. Record more steps to see whether it recurs.",
          who, lost);
  }
  return {};
}

}  // namespace

std::string LateRanks(const JobRanks& job) {
  const std::vector<std::size_t>& late = job.waits.stragglers;
  std::string text = late.size() == 1 ? "Rank " : "Ranks ";
  constexpr std::size_t kMaxShown = 4;
  for (std::size_t i = 0; i < std::min(kMaxShown, late.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", job.ranks[late[i]].rank.value_or(0));
  if (late.size() > kMaxShown) text += fmt::format(" and {} more", late.size() - kMaxShown);
  return text;
}

std::string_view NameOf(StragglerPattern pattern) {
  switch (pattern) {
    case StragglerPattern::kNone:
      return "none";
    case StragglerPattern::kRecurrent:
      return "recurrent";
    case StragglerPattern::kRotating:
      return "rotating";
    case StragglerPattern::kOnce:
      return "once";
  }
  return "";
}

const GroupAxis* FindAxis(const JobRanks& job, std::string_view group) {
  // The axes are sorted by group name.
  const auto found = std::lower_bound(
      job.axes.begin(), job.axes.end(), group,
      [](const GroupAxis& axis, std::string_view name) { return axis.group < name; });
  return found != job.axes.end() && found->group == group ? &*found : nullptr;
}

std::string_view NameOf(LateCause cause) {
  switch (cause) {
    case LateCause::kNobodyIsLate:
      return "";
    case LateCause::kUnknown:
      return "unknown";
    case LateCause::kMoreWork:
      return "more-work";
    case LateCause::kSlowGpu:
      return "slow-gpu";
    case LateCause::kLateStart:
      return "late-start";
  }
  return "";
}

std::string_view NameOf(WorkMeasure measure) {
  switch (measure) {
    case WorkMeasure::kNone:
      return "";
    case WorkMeasure::kFlops:
      return "flops";
    case WorkMeasure::kInputBytes:
      return "input_bytes";
  }
  return "";
}

std::string AxisOf(const JobRanks& job, std::string_view group) {
  const GroupAxis* axis = FindAxis(job, group);
  if (axis == nullptr || !axis->axis) return "";
  return fmt::format("{}{}", Name(*axis->axis), axis->recorded ? "" : "?");
}

std::string PipelineVerdict(const Pipeline& pipeline) {
  const auto longest = std::max_element(
      pipeline.stages.begin(), pipeline.stages.end(),
      [](const PipelineStage& a, const PipelineStage& b) { return a.computing < b.computing; });
  constexpr double kEven = 0.05;
  std::string text =
      fmt::format("{} stages wait for each other for {} of their time (the bubble).",
                  pipeline.stages.size(), FormatPercent(kPercent * pipeline.bubble_share));
  if (pipeline.imbalance < kEven) return text + " Their computing times are about equal.";
  return text +
         fmt::format(" Stage {} computes longest, {} above the mean: move layers away from it.",
                     longest - pipeline.stages.begin(),
                     FormatPercent(kPercent * pipeline.imbalance));
}

std::string RanksVerdict(const JobRanks& job) {
  const std::string who = WhoIsLate(job);
  return job.late.why.empty() ? who : who + " " + job.late.why;
}

}  // namespace headroom
