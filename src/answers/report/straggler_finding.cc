#include "answers/report/straggler_finding.h"

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
      "at most: if late ranks were as early as a typical one; as recorded, not replayed";
  finding.of_set = true;
  return found;
}

void AddStraggler(const JobRanks& job, std::vector<TraceReport>& files) {
  std::optional<RankFinding> straggler = FindStraggler(job);
  if (!straggler) return;
  for (TraceReport& file : files) {
    if (file.input.rank != job.ranks[straggler->rank].rank) continue;
    const auto less =
        std::find_if(file.findings.begin(), file.findings.end(), [&](const Finding& other) {
          return !other.saves_ms || other.saves_ms->mid < straggler->finding.saves_ms->mid;
        });
    file.findings.insert(less, std::move(straggler->finding));
    break;
  }
}

}  // namespace headroom
