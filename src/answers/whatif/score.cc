#include "answers/whatif/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "render/json_writer.h"
#include "render/number_format.h"
#include "render/text_page.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

void WriteInterval(const StepInterval& step_ms, JsonWriter& json) {
  json.Key("step_ms").BeginObject();
  json.Key("low").Number(step_ms.low);
  json.Key("mid").Number(step_ms.mid);
  json.Key("high").Number(step_ms.high);
  json.EndObject();
}

}  // namespace

std::string RenderScoreJson(const ScoreReport& report) {
  const LedgerRecord& record = report.record;
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.whatif-score/1");
  json.Key("before").String(report.before);
  json.Key("after").String(report.after);
  json.Key("scenario").String(record.scenario);
  json.Key("machine").String(record.machine);
  json.Key("baseline_ms").Number(record.baseline_ms);
  WriteInterval(record.step_ms, json);
  json.Key("actual_ms").Number(record.actual_ms);
  json.Key("source").String(report.measured ? "measured" : "corrected trace");
  json.Key("error_pct").Number(record.error_pct());
  json.Key("held").Bool(record.held());
  json.Key("scores").Integer(static_cast<std::int64_t>(report.rule.scores));
  json.Key("interval_factor").Number(report.rule.factor);
  json.EndObject();
  return std::move(json).Take() + "\n";
}

std::string RenderScoreText(const ScoreReport& report, const PageStyle& style) {
  const LedgerRecord& record = report.record;
  TextPage page(style);
  page.Heading("Forecast and truth", record.scenario, Style::kDim);
  page.Paragraph("  Before    ",
                 fmt::format("{} ({})", FormatMs(record.baseline_ms), Printable(report.before)),
                 Style::kBold);
  page.Paragraph("  Forecast  ",
                 FormatTimeBetween(record.step_ms.mid, record.step_ms.low, record.step_ms.high),
                 Style::kBold);
  // The corrected step of a trace is also an estimate, so it is not called the truth.
  page.Paragraph(report.measured ? "  Truth     " : "  After     ",
                 fmt::format("{}, {} ({})", FormatMs(*record.actual_ms),
                             report.measured ? "measured" : "the trace without its profiler",
                             Printable(report.after)),
                 Style::kBold);
  page.Paragraph("  Error     ",
                 fmt::format("{:+.1f} %; the interval {}", record.error_pct(),
                             record.held() ? "held" : "did not hold"),
                 Style::kBold, record.held() ? Style::kGood : Style::kWarning);
  page.Paragraph(
      "  Ledger    ",
      report.rule.scores < kMinScores
          ? fmt::format(
                "{} of {} scores required to calibrate the intervals of {} on this machine ({})",
                report.rule.scores, kMinScores, ScenarioKind(record.scenario),
                Printable(report.ledger))
          : fmt::format(
                "from {} scores: intervals of {} on this machine are {:.2f} times as wide ({})",
                report.rule.scores, ScenarioKind(record.scenario), report.rule.factor,
                Printable(report.ledger)),
      Style::kBold);
  return std::move(page).Take();
}

std::string RenderScoresJson(std::span<const LedgerRecord> records, const std::string& ledger) {
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.whatif-scores/1");
  json.Key("ledger").String(ledger);
  json.Key("records").BeginArray(Layout::kLines);
  for (const LedgerRecord& record : records) {
    json.BeginObject();
    json.Key("line").Integer(record.line);
    json.Key("before").String(record.path);
    json.Key("scenario").String(record.scenario);
    json.Key("machine").String(record.machine);
    json.Key("baseline_ms").Number(record.baseline_ms);
    WriteInterval(record.step_ms, json);
    json.Key("actual_ms").Number(record.actual_ms);
    if (record.scored()) {
      json.Key("error_pct").Number(record.error_pct());
      json.Key("held").Bool(record.held());
    } else {
      json.Key("error_pct").Null();
      json.Key("held").Null();
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take() + "\n";
}

std::string RenderScoresText(std::span<const LedgerRecord> records, const std::string& ledger,
                             const PageStyle& style) {
  TextPage page(style);
  page.Heading("Forecasts and their outcomes",
               Plural(static_cast<std::int64_t>(records.size()), "record"), Style::kDim);
  std::vector<std::vector<Span>> rows;
  for (const LedgerRecord& record : records) {
    std::vector<Span> row = {
        {fmt::format("{}", record.line)},
        {record.scenario},
        {record.path},
        {FormatTimeBetween(record.step_ms.mid, record.step_ms.low, record.step_ms.high)}};
    if (record.scored()) {
      row.push_back({FormatMs(*record.actual_ms)});
      row.push_back({fmt::format("{:+.1f} %", record.error_pct())});
      row.push_back(record.held() ? Span{"yes", Style::kGood} : Span{"no", Style::kWarning});
    } else {
      row.insert(row.end(), {{"-"}, {"-"}, {"-"}});
    }
    rows.push_back(std::move(row));
  }
  using Kind = TextColumn::Kind;
  // Names and paths share the remaining width. If all names are short, the paths get it.
  constexpr std::size_t kShort = 24;
  const bool all_short =
      std::all_of(records.begin(), records.end(),
                  [](const LedgerRecord& record) { return record.scenario.size() <= kShort; });
  const Kind scenarios = all_short ? Kind::kText : Kind::kName;
  if (!rows.empty()) {
    page.Table({{"line"},
                {"scenario", scenarios},
                {"trace", Kind::kName},
                {"forecast"},
                {"after"},
                {"error"},
                {"held", Kind::kText}},
               rows);
  }
  page.Paragraph("  Ledger  ",
                 records.empty()
                     ? fmt::format("no forecast is saved in {}; headroom whatif TRACE SCENARIO "
                                   "--save saves one",
                                   Printable(ledger))
                     : fmt::format("{}; to remove a record, delete its line from this file",
                                   Printable(ledger)),
                 Style::kBold);
  return std::move(page).Take();
}

}  // namespace headroom
