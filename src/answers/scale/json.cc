#include <optional>

#include "answers/scale/render.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;
constexpr double kPercent = 100;

void WriteInterval(JsonWriter& json, const StepInterval& ms, bool known) {
  const auto bound = [&](double value) { return known ? std::optional(value) : std::nullopt; };
  json.BeginObject();
  json.Key("low").Number(bound(ms.low));
  json.Key("mid").Number(bound(ms.mid));
  json.Key("high").Number(bound(ms.high));
  json.EndObject();
}

void WritePoint(JsonWriter& json, const ScaleCurve& curve, const ScalingPoint& point) {
  const bool known = point.no_answer.empty();
  const auto number = [&](double value) { return known ? std::optional(value) : std::nullopt; };
  json.BeginObject();
  json.Key("cluster").StringOrNull(curve.cluster);
  json.Key("bandwidth_gbps").Number(curve.bandwidth_gbps);
  json.Key("gpus").Integer(point.placement.gpus);
  json.Key("nodes").Integer(point.placement.nodes);
  json.Key("step_ms");
  WriteInterval(json, point.step_ms, known);
  json.Key("throughput_per_s").Number(point.samples_per_s);
  json.Key("efficiency_pct").Number(number(kPercent * point.efficiency));
  json.Key("efficiency_low_pct").Number(number(kPercent * point.least_efficiency));
  json.Key("efficiency_high_pct").Number(number(kPercent * point.most_efficiency));
  json.Key("exposed_communication_ms").Number(number(point.exposed_ms));
  json.Key("communication_ms").Number(number(point.transfers_ms));
  json.Key("straggler_ms").Number(number(point.straggler_ms));
  json.Key("overlap_ms").Number(number(point.overlap_ms));
  json.Key("bubble_ms").Number(number(point.bubble_ms));
  json.Key("loader_ms").Number(number(point.loader_ms));
  json.Key("limited_by").StringOrNull(known ? Name(point.limit) : "");
  json.Key("why").String(known ? point.why : point.no_answer);
  json.EndObject();
}

}  // namespace

std::string RenderScaleJson(const ScaleReport& report) {
  JsonWriter json;
  const bool known = report.no_answer.empty();
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.scale/1");
  json.Key("input").String(report.path);
  json.Key("baseline").BeginObject(Layout::kLines);
  json.Key("step_ms");
  WriteInterval(json, report.step_ms, known);
  json.Key("source").StringOrNull(report.source);
  json.Key("gpu").StringOrNull(report.gpu);
  json.Key("limited_by").StringOrNull(known ? Name(report.limit) : "");
  json.Key("recorded_gpus").Integer(known ? std::optional(report.recorded_gpus) : std::nullopt);
  json.Key("replayed_rank").Integer(report.replayed_rank);
  json.Key("ranks").Integer(report.replayed_rank ? std::optional(report.ranks) : std::nullopt);
  json.Key("recorded_network").StringOrNull(report.recorded_network);
  json.Key("overlap_slowdown");
  if (report.overlap) {
    json.BeginObject();
    json.Key("low").Number(report.overlap->low);
    json.Key("mid").Number(report.overlap->mid);
    json.Key("high").Number(report.overlap->high);
    json.Key("kernels").Integer(report.overlap->kernels);
    json.EndObject();
  } else {
    json.Null();
  }
  json.Key("samples_per_step").Integer(report.samples);
  json.Key("gradient_bytes").Number(report.gradient_bytes);
  json.Key("step_deviation_pct")
      .Number(report.deviation ? std::optional(kPercent * *report.deviation) : std::nullopt);
  json.Key("calibration").StringOrNull(report.calibration);
  json.Key("steps_note").StringOrNull(report.steps_note);
  json.EndObject();
  json.Key("mode").String(report.strong ? "strong" : "weak");
  json.Key("schedule").String(report.schedule);
  json.Key("exchange_every").Integer(report.exchange_every);
  json.Key("tensor_parallel").Integer(report.split.tensor);
  json.Key("pipeline_parallel").Integer(report.split.stages);
  json.Key("micro_batches").Integer(report.split.micro_batches);
  json.Key("experimental").Bool(report.split.Gpus() > 1);
  json.Key("changes").StringOrNull(report.changes);
  json.Key("why").StringOrNull(report.no_answer);
  json.Key("points").BeginArray(Layout::kLines);
  for (const ScaleCurve& curve : report.curves) {
    for (const ScalingPoint& point : curve.points) WritePoint(json, curve, point);
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace headroom
