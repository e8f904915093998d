#include "report/score_report.h"

#include <fmt/format.h>

#include "report/json_writer.h"
#include "report/text_page.h"

namespace headroom {

std::string RenderScoreJson(const ScoreReport& report) {
  const LedgerRecord& record = report.record;
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.whatif-score/1");
  json.Key("before").String(report.before);
  json.Key("after").String(report.after);
  json.Key("scenario").String(record.scenario);
  json.Key("machine").String(record.machine);
  json.Key("baseline_ms").Number(record.baseline_ms);
  json.Key("step_ms").BeginObject();
  json.Key("low").Number(record.step_ms.low);
  json.Key("mid").Number(record.step_ms.mid);
  json.Key("high").Number(record.step_ms.high);
  json.EndObject();
  json.Key("actual_ms").Number(record.actual_ms);
  json.Key("source").String(report.measured ? "measured" : "corrected trace");
  json.Key("error_pct").Number(record.error_pct());
  json.Key("held").Bool(record.held());
  json.Key("scores").Integer(static_cast<std::int64_t>(report.rule.scores));
  json.Key("interval_factor").Number(report.rule.factor);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

std::string RenderScoreText(const ScoreReport& report, bool color, Charset charset) {
  const LedgerRecord& record = report.record;
  TextPage page(color, charset);
  page.Heading("Forecast and truth", record.scenario, Style::kDim);
  page.Paragraph("  Before    ",
                 fmt::format("{:.2f} ms ({})", record.baseline_ms, Printable(report.before)),
                 Style::kBold);
  page.Paragraph("  Forecast  ",
                 fmt::format("{:.2f} ms ({:.2f} ms to {:.2f} ms)", record.step_ms.mid,
                             record.step_ms.low, record.step_ms.high),
                 Style::kBold);
  page.Paragraph("  Truth     ",
                 fmt::format("{:.2f} ms, {} ({})", *record.actual_ms,
                             report.measured ? "measured" : "the trace without its profiler",
                             Printable(report.after)),
                 Style::kBold);
  page.Paragraph("  Error     ",
                 fmt::format("{:+.1f} %; the interval {}", record.error_pct(),
                             record.held() ? "held" : "did not hold"),
                 Style::kBold, record.held() ? Style::kGood : Style::kWarning);
  page.Paragraph(
      "  Ledger    ",
      report.rule.scores < kLeastScores
          ? fmt::format("{} of {} scores that set the intervals of {} on this machine ({})",
                        report.rule.scores, kLeastScores, ScenarioKind(record.scenario),
                        Printable(report.ledger))
          : fmt::format(
                "by {} scores, intervals of {} on this machine are {:.2f} times as wide ({})",
                report.rule.scores, ScenarioKind(record.scenario), report.rule.factor,
                Printable(report.ledger)),
      Style::kBold);
  return std::move(page).Take();
}

}  // namespace headroom
