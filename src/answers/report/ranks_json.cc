#include "answers/report/ranks_json.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "answers/report/columns.h"
#include "answers/report/ranks_phrases.h"

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
  json.Key("cause").StringOrNull(NameOf(job.late.cause));
  json.Key("why").StringOrNull(job.late.why);
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

/// Writes a row per rank and step.
void WriteSteps(const JobRanks& job, JsonWriter& json) {
  std::map<std::pair<std::size_t, std::int64_t>, const RankStepWaits*> waits;
  for (const RankStepWaits& row : job.waits.steps_of_ranks) waits[{row.rank, row.step}] = &row;
  json.Key("steps").BeginArray(Layout::kLines);
  for (std::size_t rank = 0; rank < job.ranks.size(); ++rank) {
    for (const RankStep& step : job.ranks[rank].steps) {
      const auto found = waits.find({rank, step.number});
      const RankStepWaits none, &row = found == waits.end() ? none : *found->second;
      json.BeginObject();
      json.Key("rank").Integer(job.ranks[rank].rank);
      json.Key("step").Integer(step.number);
      json.Key("wall_ms").Milliseconds(step.wall);
      json.Key("computing_ms").Milliseconds(step.computing);
      json.Key("communication_ms").Milliseconds(step.collectives + step.neighbours);
      const bool known = job.alignment.clocks[rank].aligned;
      json.Key("waited_ms").Milliseconds(known ? std::optional(row.waited) : std::nullopt);
      json.Key("caused_ms").Milliseconds(known ? std::optional(row.caused) : std::nullopt);
      json.EndObject();
    }
  }
  json.EndArray();
}

void WritePairs(const JobRanks& job, JsonWriter& json) {
  // Their number grows with the square of the ranks.
  constexpr std::size_t kMaxPairs = 1024;
  const std::span<const RankPairWaits> pairs = job.waits.pairs;
  json.Key("pairs").BeginArray(Layout::kLines);
  for (const RankPairWaits& pair : pairs.first(std::min(kMaxPairs, pairs.size()))) {
    json.BeginObject();
    json.Key("rank").Integer(job.ranks[pair.waiting].rank);
    json.Key("waited_for").Integer(job.ranks[pair.last].rank);
    json.Key("waited_ms").Milliseconds(pair.waited);
    json.Key("collectives").Integer(pair.collectives);
    json.EndObject();
  }
  json.EndArray();
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
  json.Key("sentence").String(PipelineVerdict(*job.pipeline));
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

}  // namespace

void WriteJobRanksJson(const JobRanks* ranks, JsonWriter& json) {
  json.Key("job_ranks");
  if (ranks == nullptr) return json.Null();
  json.BeginObject(Layout::kLines);
  json.Key("sentence").String(RanksVerdict(*ranks));
  WriteStraggler(*ranks, json);
  WriteTable(json, "waits", columns::Waits(), *ranks, ranks->waits.ranks.size());
  WritePairs(*ranks, json);
  WriteSteps(*ranks, json);
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
