#include "report/ranks_report.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "analysis/format.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;
constexpr double kPercent = 100;
constexpr double kPerMillion = 1e6;

void WriteClocks(const JobRanks& job, JsonWriter& json) {
  json.Key("clocks").BeginArray(Layout::kLines);
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    const RankClock& clock = job.alignment.clocks[r];
    const auto known = [&](auto value) {
      return clock.aligned ? std::optional(value) : std::nullopt;
    };
    json.BeginObject();
    json.Key("rank").Integer(job.ranks[r].rank);
    json.Key("host").StringOrNull(job.ranks[r].host);
    json.Key("aligned").Bool(clock.aligned);
    json.Key("reference_rank").Integer(clock.aligned ? job.ranks[clock.root].rank : std::nullopt);
    json.Key("offset_ms").Milliseconds(known(DurationNs(clock.offset_ns)));
    json.Key("drift_ppm").Number(known(kPerMillion * clock.drift));
    json.Key("uncertainty_us").Microseconds(known(clock.uncertainty));
    json.Key("matches").Integer(static_cast<std::int64_t>(clock.matches));
    json.EndObject();
  }
  json.EndArray();
}

void WriteWaits(const JobRanks& job, JsonWriter& json) {
  const JobWaits& waits = job.waits;
  json.Key("straggler").BeginObject();
  json.Key("pattern").String(NameOf(waits.pattern));
  json.Key("rank").Integer(waits.stragglers.size() == 1 ? job.ranks[waits.stragglers.front()].rank
                                                        : std::nullopt);
  json.Key("host").StringOrNull(waits.straggler_host);
  json.Key("ranks").BeginArray();
  for (const std::size_t straggler : waits.stragglers) json.Integer(job.ranks[straggler].rank);
  json.EndArray();
  json.Key("lost_ms").Milliseconds(waits.lost);
  json.Key("lost_pct")
      .Number(waits.lost_share ? std::optional(kPercent * *waits.lost_share) : std::nullopt);
  json.Key("steps").Integer(waits.steps);
  json.Key("uncertainty_us").Microseconds(waits.uncertainty);
  json.EndObject();
  json.Key("waits").BeginArray(Layout::kLines);
  for (std::size_t r = 0; r < waits.ranks.size(); ++r) {
    const RankWaits& row = waits.ranks[r];
    json.BeginObject();
    json.Key("rank").Integer(job.ranks[r].rank);
    json.Key("waited_ms").Milliseconds(row.waited);
    json.Key("caused_ms").Milliseconds(row.caused);
    json.Key("last_count").Integer(row.last);
    json.Key("culprit_steps").Integer(row.culprit);
    json.EndObject();
  }
  json.EndArray();
}

void WriteClasses(const JobRanks& job, JsonWriter& json) {
  json.Key("collectives").BeginArray(Layout::kLines);
  for (const CollectiveClass& row : job.waits.classes) {
    json.BeginObject();
    json.Key("kind").String(row.kind);
    json.Key("group").StringOrNull(row.group);
    json.Key("bytes").Number(row.bytes);
    json.Key("count").Integer(row.count);
    json.Key("ranks").Integer(row.ranks);
    json.Key("members").Integer(row.members);
    json.Key("wait_us").Microseconds(row.wait);
    json.Key("transfer_us").Microseconds(row.transfer);
    json.Key("exposed_us").Microseconds(row.exposed);
    json.Key("algorithm_gbs").Number(row.algorithm_gbs);
    json.Key("bus_gbs").Number(row.bus_gbs);
    json.EndObject();
  }
  json.EndArray();
}

}  // namespace

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

std::string RanksVerdict(const JobRanks& job) {
  const JobWaits& waits = job.waits;
  std::string lost = FormatMs(waits.lost);
  if (waits.lost_share) {
    lost +=
        fmt::format(" of {} steps ({})", waits.steps, FormatPercent(kPercent * *waits.lost_share));
  }
  const std::string below = fmt::format("Less than {} apart is not told apart.",
                                        FormatUs(DurationNs(2 * waits.uncertainty.ns())));
  const bool one = waits.stragglers.size() == 1;
  std::string who = one ? "Rank " : "Ranks ";
  for (std::size_t i = 0; i < waits.stragglers.size(); ++i)
    who +=
        (i == 0 ? "" : ", ") + fmt::format("{}", job.ranks[waits.stragglers[i]].rank.value_or(0));
  if (!waits.straggler_host.empty())
    who += fmt::format(" ({}on {})", one ? "" : "all ", waits.straggler_host);
  switch (waits.pattern) {
    case StragglerPattern::kNone:
      if (waits.classes.empty())
        return "No collective that all wait in was joined over ranks, so who waits for whom cannot "
               "be told.";
      if (!waits.lost_share)
        return fmt::format(
            "{} lost by late ranks; without steps, whether one of them is always "
            "late cannot be told. {}",
            lost, below);
      return fmt::format("No rank holds the others up for a share of time that counts: {} lost. {}",
                         lost, below);
    case StragglerPattern::kRecurrent:
      return fmt::format(
          "{} {} the others up, step after step: the job loses {} by who comes last. "
          "{}",
          who, one ? "holds" : "hold", lost, below);
    case StragglerPattern::kRotating:
      return fmt::format(
          "Another rank comes last each time: the job loses {} by it. Uneven data "
          "does that, or a noisy machine. {}",
          lost, below);
    case StragglerPattern::kOnce:
      return fmt::format(
          "{} held the others up in one step: {} lost. Whether that recurs needs "
          "more steps.",
          who, lost);
  }
  return {};
}

void WriteJobRanksJson(const JobRanks* ranks, JsonWriter& json) {
  json.Key("job_ranks");
  if (ranks == nullptr) return json.Null();
  json.BeginObject(Layout::kLines);
  WriteWaits(*ranks, json);
  WriteClocks(*ranks, json);
  WriteClasses(*ranks, json);
  json.Key("matched").Integer(static_cast<std::int64_t>(ranks->alignment.collectives.size()));
  json.Key("unmatched").Integer(static_cast<std::int64_t>(ranks->alignment.unmatched));
  json.Key("misfits").Integer(static_cast<std::int64_t>(ranks->alignment.misfits));
  json.Key("other_kinds").Integer(ranks->waits.other_kinds);
  json.EndObject();
}

}  // namespace headroom
