#include "answers/report/rank_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "answers/report/ranks_phrases.h"
#include "render/number_format.h"

namespace headroom {
namespace {

std::string ActionFor(LateCause cause) {
  switch (cause) {
    case LateCause::kMoreWork:
      return "Balance the work. Data parallel: batches of equal cost. Pipeline stages or experts: "
             "move layers or change the routing.";
    case LateCause::kSlowGpu:
      return "Compare that GPU's clock, temperature, power and processes with the others' "
             "(headroom monitor on its machine); replace the GPU or the machine.";
    case LateCause::kLateStart:
      return "Run headroom report on that rank's file alone: check its loader, its host threads "
             "and other programs on its machine.";
    case LateCause::kUnknown:
    case LateCause::kNobodyIsLate:
      break;
  }
  return "Record with record_shapes=True to tell longer samples from a slower GPU; run headroom "
         "report on that rank's file alone.";
}

}  // namespace

std::optional<RankFinding> FindStraggler(const JobRanks& job) {
  const JobWaits& waits = job.waits;
  const bool recurrent = waits.pattern == StragglerPattern::kRecurrent;
  if (!recurrent && waits.pattern != StragglerPattern::kRotating) return std::nullopt;
  constexpr double kPercent = 100;
  const std::string lost = FormatMs(waits.lost);
  RankFinding found;
  Finding& finding = found.finding;
  finding.id = "straggler";
  if (recurrent) {
    found.rank = waits.stragglers.front();
    const std::string host = waits.straggler_host.empty() ? "" : " on " + waits.straggler_host;
    finding.title =
        fmt::format("{}{} hold{} the others up: {} of {}", LateRanks(job), host,
                    waits.stragglers.size() == 1 ? "s" : "", lost, Plural(waits.steps, "step"));
  } else {
    const auto latest = std::max_element(
        waits.ranks.begin(), waits.ranks.end(),
        [](const RankWaits& a, const RankWaits& b) { return a.caused < b.caused; });
    found.rank = static_cast<std::size_t>(latest - waits.ranks.begin());
    finding.title = fmt::format("A different rank is last each time: {} of {}", lost,
                                Plural(waits.steps, "step"));
  }
  finding.share_pct = kPercent * waits.lost_share.value_or(0);
  finding.evidence = {
      fmt::format("The median rank waits that long in collectives for a late rank and computes "
                  "nothing; {} collectives were matched over {} ranks",
                  job.alignment.collectives.size(), job.ranks.size())};
  if (!job.late.why.empty()) finding.evidence.push_back(job.late.why);
  finding.action = ActionFor(job.late.cause);
  finding.check_section = "ranks";
  finding.figure = lost;
  const double a_step =
      waits.lost.ms() / static_cast<double>(std::max<std::int64_t>(1, waits.steps));
  finding.saves_ms = MsInterval{.low = 0, .mid = a_step, .high = a_step};
  finding.saves_note =
      "at most: if late ranks were as early as the median one; as recorded, not replayed";
  finding.of_set = true;
  return found;
}

std::optional<RankFinding> FindBubble(const JobRanks& job) {
  constexpr double kMinShare = 0.01, kPercent = 100, kEven = 0.05;
  if (!job.pipeline || job.pipeline->bubble_share < kMinShare) return std::nullopt;
  const std::vector<PipelineStage>& stages = job.pipeline->stages;
  const auto longest = std::ranges::max_element(stages, {}, &PipelineStage::bubble);
  const auto busiest = std::ranges::max_element(stages, {}, &PipelineStage::computing);
  RankFinding found;
  found.rank = longest->ranks.front();
  Finding& finding = found.finding;
  finding.id = "pipeline-bubble";
  finding.figure = FormatPercent(kPercent * job.pipeline->bubble_share);
  finding.title = fmt::format("{} pipeline stages wait for each other for {} of their time",
                              stages.size(), finding.figure);
  finding.share_pct = kPercent * job.pipeline->bubble_share;
  DurationNs sum;
  for (const PipelineStage& stage : stages) {
    sum += stage.bubble;
    finding.evidence.push_back(fmt::format("Stage {}: {} in the bubble per step, {} computing",
                                           &stage - stages.data(), FormatTime(stage.bubble),
                                           FormatTime(stage.computing)));
  }
  finding.place = "more micro-batches";
  // An even pipeline of p stages with m micro-batches idles (p - 1) / (m + p - 1) of the step.
  // Twice as many micro-batches turn a share of b into b / (2 - b).
  const double share = job.pipeline->bubble_share;
  finding.action = fmt::format(
      "Use more micro-batches per step: twice as many leave a bubble of about {} if the stages are "
      "even. An interleaved schedule shrinks it too.",
      FormatPercent(kPercent * share / (2 - share)));
  if (job.pipeline->imbalance >= kEven) {
    finding.place = fmt::format("move layers off stage {}", busiest - stages.begin());
    finding.action =
        fmt::format("Move layers away from stage {}: it computes {} longer than the mean. {}",
                    busiest - stages.begin(), FormatPercent(kPercent * job.pipeline->imbalance),
                    finding.action);
  }
  finding.check_section = "ranks";
  const double mean_ms = sum.ms() / static_cast<double>(stages.size());
  finding.saves_ms = MsInterval{.low = 0, .mid = mean_ms, .high = mean_ms};
  finding.saves_note = "at most: without the bubble; as recorded, not replayed";
  finding.of_set = true;
  return found;
}

void AddRankFindings(const JobRanks& job, std::vector<TraceReport>& files) {
  for (std::optional<RankFinding> found : {FindStraggler(job), FindBubble(job)}) {
    if (!found) continue;
    const auto file = std::ranges::find(files, job.ranks[found->rank].rank,
                                        [](const TraceReport& f) { return f.input.rank; });
    if (file == files.end()) continue;
    const auto less = std::ranges::find_if(file->findings, [&](const Finding& other) {
      return !other.saves_ms || other.saves_ms->mid < found->finding.saves_ms->mid;
    });
    file->findings.insert(less, std::move(found->finding));
  }
}

}  // namespace headroom
