#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "answers/whatif/batch_curve.h"
#include "answers/whatif/explanation.h"
#include "answers/whatif/render.h"
#include "answers/whatif/self_check.h"
#include "answers/whatif/sweep.h"
#include "render/number_format.h"
#include "render/text_page.h"

namespace headroom {
namespace {

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

/// Returns the reason. A scenario with nothing to do is not an unknown.
std::string WhyText(const Forecast& forecast) {
  const bool unknown = !forecast.applies && forecast.abstention == Abstention::kUnknown;
  return (unknown ? "unknown: " : "") + forecast.why;
}

/// Writes what was asked for in addition to the forecasts.
void WriteMore(const ForecastReport& report, TextPage& page) {
  if (report.explanation) WriteExplanationText(*report.explanation, page);
  if (!report.self_check.empty()) WriteSelfCheckText(report.self_check, page);
  if (report.sweep) WriteSweepText(*report.sweep, page);
}

/// Writes the one reason why no change has a forecast.
void WriteNoForecast(const ForecastReport& report, TextPage& page) {
  const Baseline& baseline = report.baseline;
  const double replayed_ms = baseline.traced_step_ms * (1 + baseline.replay_error_pct / 100);
  page.Paragraph(
      "  ",
      fmt::format("No forecast: a replay of the unchanged step takes {}, but {} was recorded "
                  "({:+.1f} %; the limit is 1 %). The trace lacks events that determine this step.",
                  FormatMs(replayed_ms), FormatMs(baseline.traced_step_ms),
                  baseline.replay_error_pct),
      Style::kPlain, Style::kWarning);
  if (!baseline.steps_note.empty()) page.Paragraph("  ! ", baseline.steps_note, Style::kWarning);
  page.Paragraph("  ", "Record several steps after a warm-up, with CPU and GPU activity.");
  page.Line({{"  Where the time goes:", Style::kBold}});
  page.Command("    ", {"headroom", "report", report.path});
}

}  // namespace

std::string RenderForecastText(const ForecastReport& report, const PageStyle& style) {
  TextPage page(style);
  const Baseline& baseline = report.baseline;
  page.Heading("Forecast of a change", report.path, Style::kDim);
  if (!report.no_answer.empty()) {
    page.Paragraph("  ! ", "unknown: " + report.no_answer, Style::kWarning);
    return std::move(page).Take();
  }
  if (!baseline.ReplayHolds()) {
    WriteNoForecast(report, page);
    WriteMore(report, page);
    return std::move(page).Take();
  }
  page.Paragraph("  Step  ",
                 fmt::format("{} without the profiler; {} as recorded",
                             FormatTimeBetween(baseline.corrected.mid, baseline.corrected.low,
                                               baseline.corrected.high),
                             FormatMs(baseline.traced_step_ms)),
                 Style::kBold);
  if (baseline.has_gpu_work) {
    page.Paragraph("        ",
                   fmt::format("With an infinitely fast GPU {}, with an infinitely fast host {}.",
                               FormatMs(baseline.host_limit_ms), FormatMs(baseline.gpu_limit_ms)));
  }
  page.Paragraph("        ", fmt::format("The replay of the recording is off by {:+.2f} %. {}",
                                         baseline.replay_error_pct, report.calibration));
  if (!baseline.steps_note.empty()) page.Paragraph("  ! ", baseline.steps_note, Style::kWarning);
  page.Blank();
  std::vector<std::vector<Span>> rows;
  for (const Forecast& forecast : report.forecasts) {
    if (!forecast.applies) {
      rows.push_back({{forecast.name}, {"-"}, {"-"}, {"-"}, {"-"}, {"-"}});
      continue;
    }
    const std::string at_most = IsUpperBound(forecast) ? "at most " : "";
    rows.push_back(
        {{forecast.name},
         {FormatTimeBetween(forecast.step_ms.mid, forecast.step_ms.low, forecast.step_ms.high)},
         {at_most + FormatFactor(forecast.speedup)},
         {at_most + FormatMs(forecast.saves_ms)},
         {MemoryText(forecast.memory_delta_bytes)},
         {std::string(ValidityText(forecast.validated))}});
  }
  page.Table({{"change", TextColumn::Kind::kName},
              {"step"},
              {"speedup"},
              {"saves"},
              {"memory"},
              {"validated"}},
             rows);
  page.Paragraph(
      "  ", "validated: yes, on this GPU; beyond, on another GPU or outside the measured range",
      Style::kPlain, Style::kDim);
  page.Blank();
  for (const Forecast& forecast : report.forecasts) {
    page.Paragraph(fmt::format("  {}: ", Printable(forecast.name, style.charset)),
                   WhyText(forecast), Style::kBold);
  }
  if (!report.abstaining.empty()) {
    page.Blank();
    page.Line({{"  Not applicable, or unknown:", Style::kDim}});
    for (const Forecast& forecast : report.abstaining) {
      page.Paragraph(fmt::format("  {}: ", Printable(forecast.name, style.charset)), forecast.why,
                     Style::kDim, Style::kDim);
    }
  }
  for (const Forecast& forecast : report.forecasts) {
    if (forecast.batch_curve) WriteBatchCurveText(forecast.name, *forecast.batch_curve, page);
  }
  for (const Forecast& forecast : report.forecasts) {
    if (!forecast.interval_rule) continue;
    page.Paragraph(
        fmt::format("  {}: ", Printable(forecast.name, style.charset)),
        fmt::format("interval {:.2f} times as wide, from {} forecasts scored on this machine",
                    forecast.interval_rule->factor, forecast.interval_rule->scores));
  }
  WriteMore(report, page);
  return std::move(page).Take();
}

std::string RenderScenarioList(std::span<const Scenario> scenarios, const PageStyle& style) {
  std::size_t width = 0;
  for (const Scenario& scenario : scenarios) width = std::max(width, scenario.name.size());
  TextPage page(style);
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
