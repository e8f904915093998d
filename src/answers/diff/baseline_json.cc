#include "answers/diff/baseline_json.h"

#include <cmath>
#include <vector>

#include "compare/baseline_file.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

/// Rounds milliseconds to nanoseconds (six decimals). More digits are noise, and would change lines
/// under version control.
double Rounded(double value) {
  constexpr double kDecimals = 1e6;
  return std::round(value * kDecimals) / kDecimals;
}

void WriteEstimate(const Estimate& estimate, JsonWriter& json) {
  json.Key("error").Number(Rounded(estimate.error));
  json.Key("freedom").Number(std::round(estimate.freedom * 10) / 10);
}

void WriteRows(std::string_view key, const std::vector<ProfileRow>& rows, JsonWriter& json) {
  json.Key(key).BeginArray(Layout::kLines);
  for (const ProfileRow& row : rows) {
    json.BeginObject();
    json.Key("name").String(NameInProfile(row.name));
    if (!row.inside.empty()) json.Key("inside").String(NameInProfile(row.inside));
    json.Key("calls").Number(Rounded(row.calls));
    json.Key("ms").Number(Rounded(row.ms.value));
    WriteEstimate(row.ms, json);
    if (row.exposed_ms > 0) json.Key("exposed_ms").Number(Rounded(row.exposed_ms));
    json.EndObject();
  }
  json.EndArray();
}

void WriteRest(std::string_view key, const JobProfile::Rest& rest, JsonWriter& json) {
  json.Key(key).BeginObject();
  json.Key("rows").Integer(rest.rows);
  json.Key("ms").Number(Rounded(rest.ms));
  json.EndObject();
}

template <std::size_t kCount>
void WriteParts(std::string_view key, const std::array<std::string_view, kCount>& names,
                const std::array<double, kCount>& values, JsonWriter& json) {
  json.Key(key).BeginObject(Layout::kLines);
  for (std::size_t i = 0; i < kCount; ++i)
    json.Key(std::string(names[i]) + "_ms").Number(Rounded(values[i]));
  json.EndObject();
}

void WriteRanks(const JobProfile& profile, JsonWriter& json) {
  if (profile.ranks.empty()) return;
  json.Key("ranks").BeginArray(Layout::kLines);
  for (const RankFigures& rank : profile.ranks) {
    json.BeginObject();
    json.Key("rank").Integer(rank.rank);
    json.Key("step_ms").Number(Rounded(rank.step_ms));
    json.Key("compute_ms").Number(Rounded(rank.compute_ms));
    json.Key("exposed_communication_ms").Number(Rounded(rank.exposed_communication_ms));
    json.Key("idle_ms").Number(Rounded(rank.idle_ms));
    if (rank.waited_ms) json.Key("waited_ms").Number(Rounded(*rank.waited_ms));
    json.EndObject();
  }
  json.EndArray();
  if (!profile.waiting) return;
  json.Key("waiting").BeginObject();
  json.Key("lost_ms").Number(Rounded(profile.waiting->lost_ms));
  json.Key("late").StringOrNull(profile.waiting->late);
  json.EndObject();
}

}  // namespace

std::string RenderBaseline(std::string_view name, const JobProfile& profile) {
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String(kBaselineSchema);
  json.Key("name").String(name);
  json.Key("sources").BeginArray();
  // Writes only file names: the user's folders are private.
  for (const std::string& path : profile.paths)
    json.String(std::string_view(path).substr(path.rfind('/') + 1));
  json.EndArray();
  json.Key("steps").Integer(profile.steps);
  json.Key("verdict").String(profile.verdict);
  json.Key("grade").String(std::string(1, profile.grade));
  json.Key("calibration").StringOrNull(profile.calibration);
  json.Key("step").BeginObject();
  json.Key("p50_ms").Number(Rounded(profile.median_ms));
  json.Key("p10_ms").Number(Rounded(profile.least_ms));
  json.Key("p90_ms").Number(Rounded(profile.most_ms));
  json.EndObject();
  WriteParts("parts", kStepPartNames, profile.parts_ms, json);
  WriteParts("phases", kPhaseNames, profile.phases_ms, json);
  json.Key("facts").BeginObject(Layout::kLines);
  for (const ProfileFact& fact : profile.facts) json.Key(fact.name).String(fact.value);
  json.EndObject();
  json.Key("runs").BeginArray(Layout::kLines);
  for (const RunFigures& run : profile.runs) {
    json.BeginObject(Layout::kLines);
    for (const auto& [figure, estimate] : run) {
      json.Key(figure).BeginObject();
      json.Key("value").Number(Rounded(estimate.value));
      WriteEstimate(estimate, json);
      json.EndObject();
    }
    json.EndObject();
  }
  json.EndArray();
  WriteRanks(profile, json);
  WriteRows("kernels", profile.kernels, json);
  WriteRest("other_kernels", profile.other_kernels, json);
  WriteRows("operators", profile.operators, json);
  WriteRest("other_operators", profile.other_operators, json);
  WriteRows("layers", profile.layers, json);
  WriteRest("other_layers", profile.other_layers, json);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom
