#include "answers/whatif/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "answers/whatif/batch_curve.h"
#include "answers/whatif/explanation.h"
#include "answers/whatif/self_check.h"
#include "answers/whatif/sweep.h"
#include "render/json_writer.h"
#include "render/text_page.h"

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

std::string_view ValidityText(Validity validity) {
  switch (validity) {
    case Validity::kNo:
      return "no";
    case Validity::kYes:
      return "yes";
    case Validity::kOutOfRange:
      return "beyond";
  }
  return "";
}

std::string MsNumber(double ms) { return fmt::format("{:.{}f}", ms, std::abs(ms) >= 100 ? 1 : 2); }

std::string Ms(double ms) { return MsNumber(ms) + " ms"; }

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
  replayed("gpu_limit_ms", baseline.gpu_limit_ms);
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

std::string RenderForecastText(const ForecastReport& report, bool color, Charset charset) {
  TextPage page(color, charset);
  const Baseline& baseline = report.baseline;
  page.Heading("What a change would buy", report.path, Style::kDim);
  if (!report.no_answer.empty()) {
    page.Paragraph("  ! ", "cannot be told: " + report.no_answer, Style::kWarning);
    return std::move(page).Take();
  }
  if (baseline.ReplayHolds()) {
    page.Paragraph("  Step  ",
                   fmt::format("{} without the profiler ({} to {}); {} as recorded",
                               Ms(baseline.corrected.mid), Ms(baseline.corrected.low),
                               Ms(baseline.corrected.high), Ms(baseline.traced_step_ms)),
                   Style::kBold);
    page.Paragraph("        ",
                   fmt::format("With an infinitely fast GPU {}, with an infinitely fast host {}.",
                               Ms(baseline.host_limit_ms), Ms(baseline.gpu_limit_ms)));
  } else {
    page.Paragraph(
        "  Step  ",
        fmt::format("{} as recorded; not known without the profiler", Ms(baseline.traced_step_ms)),
        Style::kBold);
  }
  page.Paragraph("        ", fmt::format("The replay of the recording is off by {:+.2f} %. {}",
                                         baseline.replay_error_pct, report.calibration));
  if (!baseline.steps_note.empty()) page.Paragraph("  ! ", baseline.steps_note, Style::kWarning);
  if (!baseline.ReplayHolds()) {
    page.Paragraph(
        "  ! ", "the replay of the unchanged job is off by more than 1 %, so no forecast is given",
        Style::kWarning);
  }
  page.Blank();
  std::vector<std::vector<Span>> rows;
  for (const Forecast& forecast : report.forecasts) {
    if (!forecast.applies) {
      rows.push_back({{forecast.name}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}});
      continue;
    }
    const std::string at_most = forecast.at_best ? "at most " : "";
    rows.push_back(
        {{forecast.name},
         {Ms(forecast.step_ms.mid)},
         {fmt::format("{} to {}", MsNumber(forecast.step_ms.low), Ms(forecast.step_ms.high))},
         {fmt::format("{}{:.2f}x", at_most, forecast.speedup)},
         {at_most + Ms(forecast.saves_ms)},
         {MemoryText(forecast.memory_delta_bytes)},
         {std::string(ValidityText(forecast.validated))}});
  }
  page.Table({{"change", TextColumn::Kind::kName},
              {"step"},
              {"interval"},
              {"speedup"},
              {"saves"},
              {"memory"},
              {"validated"}},
             rows);
  page.Blank();
  for (const Forecast& forecast : report.forecasts) {
    page.Paragraph(fmt::format("  {}: ", Printable(forecast.name, charset)),
                   forecast.applies ? forecast.why : "cannot tell: " + forecast.why, Style::kBold);
  }
  if (!report.abstaining.empty()) {
    page.Blank();
    page.Line({{"  Does not apply, or cannot be told:", Style::kDim}});
    for (const Forecast& forecast : report.abstaining) {
      page.Paragraph(fmt::format("  {}: ", Printable(forecast.name, charset)), forecast.why,
                     Style::kDim, Style::kDim);
    }
  }
  for (const Forecast& forecast : report.forecasts) {
    if (forecast.batch_curve) WriteBatchCurveText(forecast.name, *forecast.batch_curve, page);
  }
  for (const Forecast& forecast : report.forecasts) {
    if (!forecast.interval_rule) continue;
    page.Paragraph(fmt::format("  {}: ", Printable(forecast.name, charset)),
                   fmt::format("interval {:.2f} times as wide as else, by {} forecasts that were "
                               "scored on this machine",
                               forecast.interval_rule->factor, forecast.interval_rule->scores));
  }
  if (report.explanation) WriteExplanationText(*report.explanation, page);
  if (!report.self_check.empty()) WriteSelfCheckText(report.self_check, page);
  if (report.sweep) WriteSweepText(*report.sweep, page);
  return std::move(page).Take();
}

std::string RenderScenarioList(std::span<const Scenario> scenarios, bool color, Charset charset) {
  std::size_t width = 0;
  for (const Scenario& scenario : scenarios) width = std::max(width, scenario.name.size());
  TextPage page(color, charset);
  page.Paragraph("  ", "NAME[:key=value,...]; a key with a default in brackets may be left out");
  page.Blank();
  for (const Scenario& scenario : scenarios) {
    page.Paragraph(fmt::format("  {:{}}  ", scenario.name, width), scenario.summary, Style::kBold);
    std::string keys;
    for (const ScenarioKey& key : scenario.keys) {
      const std::string value = !key.choices.empty()          ? std::string(key.choices)
                                : key.kind == KeyKind::kRegex ? "REGEX"
                                : key.kind == KeyKind::kCount ? "N"
                                                              : "F";
      keys += fmt::format("{}{}={}{}", keys.empty() ? "" : ", ", key.name, value,
                          key.otherwise.empty() ? "" : fmt::format(" [{}]", key.otherwise));
    }
    if (!keys.empty())
      page.Paragraph(std::string(width + 4, ' '), keys, Style::kPlain, Style::kDim);
  }
  return std::move(page).Take();
}

}  // namespace headroom
