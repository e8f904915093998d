#include <optional>
#include <vector>

#include "answers/diff/render.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

std::string_view NameOf(FactState state) {
  switch (state) {
    case FactState::kSame:
      return "same";
    case FactState::kDifferent:
      return "different";
    case FactState::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view NameOf(RowChange::State state) {
  switch (state) {
    case RowChange::State::kNew:
      return "new";
    case RowChange::State::kGone:
      return "gone";
    case RowChange::State::kChanged:
      break;
  }
  return "changed";
}

/// Writes the members of a change of a figure, in any unit.
void WriteChange(const Difference& change, JsonWriter& json) {
  json.Key("a").Number(change.a);
  json.Key("b").Number(change.b);
  json.Key("change").Number(change.delta);
  json.Key("change_pct");
  if (change.a != 0) {
    json.Number(100 * change.delta / change.a);
  } else {
    json.Null();
  }
  json.Key("low");
  change.bounded ? json.Number(change.low) : json.Null();
  json.Key("high");
  change.bounded ? json.Number(change.high) : json.Null();
  json.Key("noise").Bool(change.is_noise());
}

void WriteSide(const JobProfile& side, JsonWriter& json) {
  json.BeginObject(Layout::kLines);
  json.Key("baseline").StringOrNull(side.baseline);
  json.Key("paths").BeginArray();
  for (const std::string& path : side.paths) json.String(path);
  json.EndArray();
  json.Key("runs").Integer(static_cast<std::int64_t>(side.runs.size()));
  json.Key("steps").Integer(side.steps);
  json.Key("grade").String(std::string(1, side.grade));
  json.Key("verdict").String(side.verdict);
  json.Key("calibration").StringOrNull(side.calibration);
  json.Key("p50_ms").Number(side.median_ms);
  json.Key("p10_ms").Number(side.least_ms);
  json.Key("p90_ms").Number(side.most_ms);
  json.Key("parts").BeginObject();
  for (std::size_t i = 0; i < kStepPartNames.size(); ++i)
    json.Key(std::string(kStepPartNames[i]) + "_ms").Number(side.parts_ms[i]);
  json.EndObject();
  json.Key("phases").BeginObject();
  for (std::size_t i = 0; i < kPhaseNames.size(); ++i)
    json.Key(std::string(kPhaseNames[i]) + "_ms").Number(side.phases_ms[i]);
  json.EndObject();
  const std::optional<Imbalance> imbalance = ImbalanceOf(side);
  json.Key("ranks").StringOrNull(side.ranks.empty() ? "" : FactOf(side, "ranks"));
  json.Key("busiest_rank").Integer(imbalance ? std::optional(imbalance->busiest) : std::nullopt);
  json.Key("imbalance_ms").Number(imbalance ? std::optional(imbalance->ms) : std::nullopt);
  json.Key("lost_to_late_ms")
      .Number(side.waiting ? std::optional(side.waiting->lost_ms) : std::nullopt);
  json.Key("late").StringOrNull(side.waiting ? side.waiting->late : "");
  json.EndObject();
}

void WriteRank(const std::optional<RankFigures>& rank, JsonWriter& json) {
  if (!rank) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("step_ms").Number(rank->step_ms);
  json.Key("compute_ms").Number(rank->compute_ms);
  json.Key("exposed_communication_ms").Number(rank->exposed_communication_ms);
  json.Key("idle_ms").Number(rank->idle_ms);
  json.Key("waited_ms").Number(rank->waited_ms);
  json.EndObject();
}

void WriteFacts(const std::vector<ComparedFact>& facts, JsonWriter& json) {
  json.BeginArray(Layout::kLines);
  for (const ComparedFact& fact : facts) {
    json.BeginObject();
    json.Key("name").String(fact.name);
    json.Key("state").String(NameOf(fact.state));
    json.Key("a").StringOrNull(fact.a);
    json.Key("b").StringOrNull(fact.b);
    json.Key("blocks").Bool(fact.blocks);
    json.Key("accepted").Bool(fact.accepted);
    json.Key("cost").StringOrNull(fact.cost);
    json.EndObject();
  }
  json.EndArray();
}

void WriteRows(std::string_view kind, const std::vector<RowChange>& rows, JsonWriter& json) {
  json.BeginArray(Layout::kLines);
  for (const RowChange& row : rows) {
    json.BeginObject();
    json.Key("id").StringOrNull(IdOfRow(kind, row));
    json.Key("name").String(row.name);
    json.Key("operator").StringOrNull(row.inside);
    json.Key("state").String(NameOf(row.state));
    json.Key("calls_a").Number(row.calls_a);
    json.Key("calls_b").Number(row.calls_b);
    json.Key("ms").BeginObject();
    WriteChange(row.ms, json);
    json.EndObject();
    json.Key("by_count_ms").Number(row.by_count_ms);
    json.Key("by_time_ms").Number(row.by_time_ms);
    json.EndObject();
  }
  json.EndArray();
}

void WriteGate(const GateResult& gate, JsonWriter& json) {
  json.BeginObject(Layout::kLines);
  json.Key("verdict").String(NameOf(gate.verdict));
  json.Key("rules").BeginArray(Layout::kLines);
  for (const RuleResult& row : gate.rules) {
    json.BeginObject();
    json.Key("rule").String(row.rule.text);
    json.Key("metric").String(row.rule.metric);
    json.Key("verdict").String(NameOf(row.verdict));
    json.Key("measured");
    if (row.measured) {
      json.BeginObject();
      WriteChange(row.change, json);
      json.EndObject();
    } else {
      json.Null();
    }
    json.Key("threshold");
    row.measured ? json.Number(row.threshold) : json.Null();
    json.Key("why").StringOrNull(row.why);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string RenderDiffJson(const DiffReport& report) {
  const JobDiff& diff = report.diff;
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.diff/1");
  json.Key("a");
  WriteSide(diff.a, json);
  json.Key("b");
  WriteSide(diff.b, json);
  json.Key("sentence").String(StepSentence(diff));
  json.Key("noise").String(NoiseSentence(diff));
  json.Key("comparable").Bool(diff.comparable);
  json.Key("facts");
  WriteFacts(diff.facts, json);
  json.Key("step_ms").BeginObject();
  WriteChange(diff.step, json);
  json.EndObject();
  json.Key("corrected_step_ms");
  if (diff.corrected) {
    json.BeginObject();
    WriteChange(*diff.corrected, json);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("changed").Bool(diff.step_changed());
  json.Key("account").BeginArray(Layout::kLines);
  for (const AccountRow& row : diff.account) {
    json.BeginObject();
    json.Key("part").String(row.name);
    json.Key("is_operator").Bool(row.of_operator);
    json.Key("label").String(AccountLabel(row));
    json.Key("a_ms").Number(row.a_ms);
    json.Key("b_ms").Number(row.b_ms);
    json.Key("change_ms").Number(row.change_ms());
    json.EndObject();
  }
  json.EndArray();
  json.Key("metrics").BeginArray(Layout::kLines);
  for (const FigureChange& figure : diff.figures) {
    json.BeginObject();
    json.Key("name").String(figure.name);
    WriteChange(figure.change, json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("operators");
  WriteRows("operator", diff.operators, json);
  json.Key("kernels");
  WriteRows("kernel", diff.kernels, json);
  json.Key("layers");
  WriteRows("layer", diff.layers, json);
  json.Key("swaps").BeginArray(Layout::kLines);
  for (const KernelSwap& swap : diff.swaps) {
    json.BeginObject();
    json.Key("operator").String(swap.operator_name);
    json.Key("gone").BeginArray();
    for (const std::string& name : swap.gone) json.String(name);
    json.EndArray();
    json.Key("new").BeginArray();
    for (const std::string& name : swap.fresh) json.String(name);
    json.EndArray();
    json.Key("gone_ms").Number(swap.gone_ms);
    json.Key("new_ms").Number(swap.fresh_ms);
    json.EndObject();
  }
  json.EndArray();
  json.Key("ranks").BeginArray(Layout::kLines);
  for (const RankChange& rank : diff.ranks) {
    json.BeginObject();
    json.Key("rank").Integer(rank.rank);
    json.Key("a");
    WriteRank(rank.a, json);
    json.Key("b");
    WriteRank(rank.b, json);
    json.EndObject();
  }
  json.EndArray();
  json.Key("gate");
  if (report.gate) {
    WriteGate(*report.gate, json);
  } else {
    json.Null();
  }
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom
