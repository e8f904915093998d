#include "serve/metrics_json.h"

#include <algorithm>
#include <utility>

#include "analysis/loop/metric_curves.h"
#include "render/json_writer.h"
#include "serve/timeline/track_names.h"

namespace headroom {
namespace {

void Write(const TraceStore& store, const MetricCurve& curve, JsonWriter& json) {
  json.BeginObject();
  json.Key("instance").StringOrNull(curve.instance);
  json.Key("process").String(ProcessTitle(store, curve.thread));
  json.Key("points").BeginArray();
  for (const CurveBucket& bucket : curve.buckets) {
    json.BeginArray();
    json.Integer(bucket.index);
    for (const double value : {bucket.least, bucket.mean, bucket.most}) json.Number(value);
    json.EndArray();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string RenderMetricsJson(const TraceStore& store, std::span<const StepRow> steps,
                              TimeNs zero) {
  const auto [first, last] = RangeOfMetrics(store).value_or(std::pair(zero, zero));
  const TimeNs begin = std::min(zero, first);
  TimeNs end = std::max(zero, last);
  for (const StepRow& step : steps) end = std::max(end, step.start + step.wall);
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.metrics/1");
  json.Key("begin_ms").Milliseconds(begin - zero);
  json.Key("length_ms").Milliseconds(end - begin);
  json.Key("buckets").Integer(kCurveBuckets);
  json.Key("steps").BeginArray(JsonWriter::Layout::kLines);
  for (const StepRow& step : steps) {
    json.BeginObject();
    json.Key("index").Integer(step.index);
    json.Key("start_ms").Milliseconds(step.start - zero);
    json.EndObject();
  }
  json.EndArray();
  json.Key("metrics").BeginArray(JsonWriter::Layout::kLines);
  for (const MetricCurves& metric : CurvesOfMetrics(store, begin, end)) {
    json.BeginObject();
    json.Key("name").String(metric.name);
    json.Key("unit").StringOrNull(metric.unit);
    json.Key("left_out").Integer(metric.left_out);
    json.Key("curves").BeginArray(JsonWriter::Layout::kLines);
    for (const MetricCurve& curve : metric.curves) Write(store, curve, json);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace headroom
