#include "answers/report/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "answers/report/columns.h"
#include "render/number_format.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;
constexpr double kPercent = 100;

void WriteTable(JsonWriter& json, std::string_view key, ReportColumns<RowOfRanks> columns,
                const JobRanks& job, std::size_t rows) {
  json.Key(key).BeginArray(Layout::kLines);
  for (std::size_t row = 0; row < rows; ++row) WriteRow(columns, {&job, row}, json);
  json.EndArray();
}

void WriteStraggler(const JobRanks& job, JsonWriter& json) {
  const JobWaits& waits = job.waits;
  json.Key("straggler").BeginObject();
  json.Key("pattern").String(NameOf(waits.pattern));
  json.Key("rank").Integer(waits.stragglers.size() == 1 ? job.ranks[waits.stragglers.front()].rank
                                                        : std::nullopt);
  json.Key("host").StringOrNull(waits.straggler_host);
  json.Key("cause").StringOrNull(NameOf(job.work.cause));
  json.Key("why").StringOrNull(job.work.why);
  json.Key("ranks").BeginArray();
  for (const std::size_t straggler : waits.stragglers) json.Integer(job.ranks[straggler].rank);
  json.EndArray();
  json.Key("lost_ms").Milliseconds(waits.lost);
  json.Key("lost_pct")
      .Number(waits.lost_share ? std::optional(kPercent * *waits.lost_share) : std::nullopt);
  json.Key("steps").Integer(waits.steps);
  json.Key("uncertainty_us").Microseconds(waits.uncertainty);
  json.EndObject();
}

void WriteRanks(const JobRanks& job, const std::vector<std::size_t>& ranks, JsonWriter& json) {
  json.BeginArray();
  for (const std::size_t rank : ranks) json.Integer(job.ranks[rank].rank);
  json.EndArray();
}

void WriteWork(const JobRanks& job, JsonWriter& json) {
  const JobWork& work = job.work;
  const auto percent = [](std::optional<double> share) {
    return share ? std::optional(kPercent * *share) : std::nullopt;
  };
  json.Key("work").BeginObject();
  json.Key("measure").StringOrNull(NameOf(work.measure));
  json.Key("steps").Integer(work.steps);
  json.Key("computing_imbalance_pct").Number(kPercent * work.computing_imbalance);
  json.Key("work_imbalance_pct").Number(percent(work.work_imbalance));
  json.Key("explained_pct").Number(percent(work.explained));
  json.EndObject();
}

void WriteGroups(const JobRanks& job, JsonWriter& json) {
  json.Key("groups").BeginArray(Layout::kLines);
  for (const GroupAxis& group : job.axes) {
    json.BeginObject();
    json.Key("group").StringOrNull(group.group);
    json.Key("axis").StringOrNull(group.axis ? Name(*group.axis) : "");
    json.Key("axis_from").StringOrNull(!group.axis ? "" : group.recorded ? "recorded" : "inferred");
    json.Key("why").String(group.why);
    json.Key("members").Integer(group.members);
    json.Key("ranks");
    WriteRanks(job, group.ranks, json);
    json.EndObject();
  }
  json.EndArray();
}

void WritePipeline(const JobRanks& job, JsonWriter& json) {
  json.Key("pipeline");
  if (!job.pipeline) return json.Null();
  json.BeginObject(Layout::kLines);
  json.Key("imbalance_pct").Number(kPercent * job.pipeline->imbalance);
  json.Key("bubble_pct").Number(kPercent * job.pipeline->bubble_share);
  json.Key("stages").BeginArray(Layout::kLines);
  for (const PipelineStage& stage : job.pipeline->stages) {
    json.BeginObject();
    json.Key("ranks");
    WriteRanks(job, stage.ranks, json);
    json.Key("step_ms").Milliseconds(stage.step);
    json.Key("computing_ms").Milliseconds(stage.computing);
    json.Key("bubble_ms").Milliseconds(stage.bubble);
    json.Key("idle_ms").Milliseconds(stage.idle);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

std::string WhoIsLate(const JobRanks& job) {
  const JobWaits& waits = job.waits;
  std::string lost = FormatMs(waits.lost);
  if (waits.lost_share) {
    lost += fmt::format(" of {} ({})", Plural(waits.steps, "step"),
                        FormatPercent(kPercent * *waits.lost_share));
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
      return fmt::format("Another rank comes last each time: the job loses {} by it.{} {}", lost,
                         job.work.why.empty() ? " Uneven data does that, or a noisy machine." : "",
                         below);
    case StragglerPattern::kOnce:
      return fmt::format(
          "{} held the others up in one step: {} lost. Whether that recurs needs "
          "more steps.",
          who, lost);
  }
  return {};
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

const GroupAxis* FindAxis(const JobRanks& job, std::string_view group) {
  // They are in order of their names.
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
  if (pipeline.imbalance < kEven) return text + " They compute about equally long.";
  return text +
         fmt::format(" Stage {} computes longest, {} above the mean: move layers away from it.",
                     longest - pipeline.stages.begin(),
                     FormatPercent(kPercent * pipeline.imbalance));
}

std::string RanksVerdict(const JobRanks& job) {
  const std::string who = WhoIsLate(job);
  return job.work.why.empty() ? who : who + " " + job.work.why;
}

void WriteJobRanksJson(const JobRanks* ranks, JsonWriter& json) {
  json.Key("job_ranks");
  if (ranks == nullptr) return json.Null();
  json.BeginObject(Layout::kLines);
  WriteStraggler(*ranks, json);
  WriteTable(json, "waits", columns::Waits(), *ranks, ranks->waits.ranks.size());
  WriteTable(json, "clocks", columns::Clocks(), *ranks, ranks->ranks.size());
  WriteWork(*ranks, json);
  WriteGroups(*ranks, json);
  WriteTable(json, "collectives", columns::Collectives(), *ranks, ranks->waits.classes.size());
  WritePipeline(*ranks, json);
  json.Key("matched").Integer(static_cast<std::int64_t>(ranks->alignment.collectives.size()));
  json.Key("unmatched").Integer(static_cast<std::int64_t>(ranks->alignment.unmatched));
  json.Key("misfits").Integer(static_cast<std::int64_t>(ranks->alignment.misfits));
  json.Key("other_kinds").Integer(ranks->waits.other_kinds);
  json.EndObject();
}

}  // namespace headroom
