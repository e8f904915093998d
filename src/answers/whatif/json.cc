#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "answers/whatif/batch_curve.h"
#include "answers/whatif/explanation.h"
#include "answers/whatif/render.h"
#include "answers/whatif/self_check.h"
#include "answers/whatif/sweep.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

void WriteInterval(JsonWriter& json, const StepInterval& interval, bool known) {
  json.BeginObject();
  const auto number = [&](std::string_view key, double value) {
    json.Key(key).Number(known ? std::optional(value) : std::nullopt);
  };
  number("low", interval.low);
  number("mid", interval.mid);
  number("high", interval.high);
  json.EndObject();
}

void WriteValidity(JsonWriter& json, Validity validity) {
  switch (validity) {
    case Validity::kNo:
      return json.Raw("false");
    case Validity::kYes:
      return json.Raw("true");
    case Validity::kOutOfRange:
      return json.String("out of range");
  }
}

}  // namespace

std::string RenderForecastJson(const ForecastReport& report) {
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.whatif/1");
  json.Key("path").String(report.path);
  const Baseline& baseline = report.baseline;
  json.Key("baseline").BeginObject(Layout::kLines);
  const auto number = [&](std::string_view key, double value) {
    json.Key(key).Number(report.no_answer.empty() ? std::optional(value) : std::nullopt);
  };
  number("traced_step_ms", baseline.traced_step_ms);
  json.Key("marked_step_ms")
      .Number(report.no_answer.empty() ? baseline.marked_step_ms : std::nullopt);
  const auto replayed = [&](std::string_view key, double value) {
    json.Key(key).Number(report.no_answer.empty() && baseline.ReplayHolds() ? std::optional(value)
                                                                            : std::nullopt);
  };
  replayed("corrected_step_ms", baseline.corrected.mid);
  replayed("corrected_step_low_ms", baseline.corrected.low);
  replayed("corrected_step_high_ms", baseline.corrected.high);
  number("replay_step_ms", baseline.replay_step_ms);
  number("replay_error_pct", baseline.replay_error_pct);
  replayed("host_limit_ms", baseline.host_limit_ms);
  json.Key("gpu_limit_ms")
      .Number(report.no_answer.empty() && baseline.ReplayHolds() && baseline.has_gpu_work
                  ? std::optional(baseline.gpu_limit_ms)
                  : std::nullopt);
  json.Key("calibration").String(report.calibration);
  if (baseline.steps_note.empty()) {
    json.Key("steps_note").Null();
  } else {
    json.Key("steps_note").String(baseline.steps_note);
  }
  json.EndObject();
  json.Key("scenarios").BeginArray(Layout::kLines);
  for (const Forecast& forecast : report.forecasts) {
    json.BeginObject();
    json.Key("name").String(forecast.name);
    json.Key("step_ms");
    WriteInterval(json, forecast.step_ms, forecast.applies);
    const auto known = [&](double value) {
      return forecast.applies ? std::optional(value) : std::nullopt;
    };
    json.Key("speedup").Number(known(forecast.speedup));
    json.Key("saves_ms").Number(known(forecast.saves_ms));
    json.Key("at_best").Raw(forecast.at_best ? "true" : "false");
    json.Key("upper_bound").Bool(IsUpperBound(forecast));
    json.Key("memory_delta_bytes").Integer(forecast.memory_delta_bytes);
    json.Key("applies").Raw(forecast.applies ? "true" : "false");
    json.Key("why").String(forecast.why);
    json.Key("changed").BeginObject();
    json.Key("tasks").Integer(forecast.changed.tasks);
    json.Key("inserted").Integer(forecast.changed.inserted);
    json.Key("removed").Integer(forecast.changed.removed);
    json.EndObject();
    json.Key("validated");
    WriteValidity(json, forecast.validated);
    if (forecast.batch_curve) WriteBatchCurveJson(*forecast.batch_curve, json.Key("batch_curve"));
    if (forecast.interval_rule) {
      json.Key("scores").Integer(forecast.interval_rule->scores);
      json.Key("interval_factor").Number(forecast.interval_rule->factor);
    } else {
      json.Key("scores").Null();
      json.Key("interval_factor").Null();
    }
    json.EndObject();
  }
  json.EndArray();
  if (report.explanation) WriteExplanationJson(*report.explanation, json.Key("explanation"));
  if (!report.self_check.empty()) WriteSelfCheckJson(report.self_check, json.Key("self_check"));
  if (report.ranked) {
    json.Key("abstaining").BeginArray(Layout::kLines);
    for (const Forecast& forecast : report.abstaining) {
      json.BeginObject();
      json.Key("name").String(forecast.name);
      json.Key("why").String(forecast.why);
      json.EndObject();
    }
    json.EndArray();
  }
  if (report.sweep) WriteSweepJson(*report.sweep, json.Key("sweep"));
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom
