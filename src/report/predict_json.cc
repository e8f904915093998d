#include <utility>

#include "report/json_writer.h"
#include "report/predict_report.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

void WriteRange(JsonWriter& json, const PredictedMs& ms) {
  json.BeginObject();
  json.Key("low").Number(ms.low);
  json.Key("mid").Number(ms.mid);
  json.Key("high").Number(ms.high);
  json.EndObject();
}

void WriteBaseline(JsonWriter& json, const PredictBaseline& baseline) {
  constexpr double kPercent = 100;
  json.BeginObject();
  json.Key("trace").String(baseline.trace);
  json.Key("step_ms").Number(baseline.step.mid);
  json.Key("step_low_ms").Number(baseline.step.low);
  json.Key("step_high_ms").Number(baseline.step.high);
  json.Key("host_limit_ms").Number(baseline.host_ms);
  json.Key("gpu_limit_ms").Number(baseline.gpu_ms);
  json.Key("ratio_only_pct").Number(baseline.ratio_only_share * kPercent);
  json.EndObject();
}

void WriteTarget(JsonWriter& json, const PredictedTarget& target) {
  json.BeginObject();
  json.Key("gpu").String(target.gpu);
  json.Key("name").String(target.full_name);
  json.Key("workload").StringOrNull(target.workload);
  WriteRange(json.Key("step_ms"), target.step);
  json.Key("speedup").Number(target.speedup);
  json.Key("gpu_memory_bytes").Number(target.gpu_memory_bytes);
  // Not modelled yet: unknown, never 0.
  for (const char* key :
       {"memory_bytes", "fits", "hours", "money", "currency", "energy_joules", "co2_kg"})
    json.Key(key).Null();
  json.Key("extrapolated").Bool(target.extrapolated);
  json.Key("ties").BeginArray();
  for (const std::string& tie : target.ties) json.String(tie);
  json.EndArray();
  json.Key("why").String(target.why);
  json.EndObject();
}

}  // namespace

std::string RenderPredictJson(const PredictReport& report) {
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.predict/1");
  json.Key("source_gpu");
  report.source_gpu ? json.String(*report.source_gpu) : json.Null();
  json.Key("baseline");
  if (report.baselines.size() == 1) {
    WriteBaseline(json, report.baselines.front());
  } else {
    json.Null();
  }
  json.Key("baselines").BeginArray(Layout::kLines);
  for (const PredictBaseline& baseline : report.baselines) WriteBaseline(json, baseline);
  json.EndArray();
  json.Key("targets").BeginArray(Layout::kLines);
  for (const PredictedTarget& target : report.targets) WriteTarget(json, target);
  json.EndArray();
  json.Key("constants").String(report.constants);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom
