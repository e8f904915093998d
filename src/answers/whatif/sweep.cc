#include "answers/whatif/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "render/number_format.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

/// Maximum number of targets in text. JSON has all targets.
constexpr std::size_t kRows = 20;

/// Targets that save less than this share of the step at any speed are not shown.
constexpr double kNothing = 0.002;

std::optional<double> Finite(double factor) {
  return std::isinf(factor) ? std::nullopt : std::optional(factor);
}

}  // namespace

void WriteSweepJson(const Sweep& sweep, JsonWriter& json) {
  json.BeginObject(Layout::kLines);
  json.Key("step_ms").Number(sweep.step_ms);
  json.Key("replays").Integer(sweep.replays);
  json.Key("factors").BeginArray();
  for (const double factor : kSweepFactors) json.Number(Finite(factor));
  json.EndArray();
  json.Key("targets").BeginArray(Layout::kLines);
  for (const SweepTarget& target : sweep.targets) {
    json.BeginObject();
    json.Key("kind").String(Name(target.kind));
    json.Key("name").String(target.name);
    json.Key("time_ms").Number(target.time_ms);
    json.Key("step_ms").BeginArray();
    for (const std::optional<double>& step : target.step_ms) json.Number(step);
    json.EndArray();
    json.Key("saves_ms").Number(target.saves_ms);
    json.Key("saves_at_most_ms").Number(target.saves_at_most_ms);
    json.Key("knee_factor").Number(target.knee_factor);
    json.EndObject();
  }
  json.EndArray();
  json.Key("next").BeginArray(Layout::kLines);
  for (const NextFix& fix : sweep.next) {
    json.BeginObject();
    json.Key("kind").String(Name(fix.kind));
    json.Key("name").String(fix.name);
    json.Key("step_ms").Number(fix.step_ms);
    json.Key("saves_ms").Number(fix.saves_ms);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteSweepText(const Sweep& sweep, TextPage& page) {
  page.Blank();
  page.Heading("Step time in ms if one part of the work were faster", "", Style::kDim);
  std::vector<std::vector<Span>> rows;
  std::size_t left_out = 0;
  bool any_knee = false;
  for (const SweepTarget& target : sweep.targets) {
    if (target.saves_at_most_ms < kNothing * sweep.step_ms || rows.size() == kRows) {
      ++left_out;
      continue;
    }
    std::vector<Span> row = {{std::string(Name(target.kind))},
                             {target.name},
                             {target.time_ms ? FormatNumber(*target.time_ms) : "-"}};
    for (const std::optional<double>& step : target.step_ms)
      row.push_back({step ? FormatNumber(*step) : "-"});
    row.push_back({target.knee_factor ? fmt::format("{:.2f}x", *target.knee_factor) : ""});
    any_knee |= target.knee_factor.has_value();
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    page.Paragraph("  ", "No single part of the work saves time when it is made faster.");
  } else {
    std::vector<TextColumn> columns = {
        {"part", TextColumn::Kind::kText}, {"name", TextColumn::Kind::kName}, {"takes"}};
    for (const double factor : kSweepFactors)
      columns.push_back({std::isinf(factor) ? "gone" : fmt::format("{}x", factor)});
    columns.push_back({"knee"});
    page.Table(columns, rows);
    if (any_knee) {
      page.Paragraph("  ", "Knee: beyond this factor another part limits the step.", Style::kDim,
                     Style::kDim);
    }
  }
  if (left_out > 0) {
    page.Paragraph("  ",
                   fmt::format("{} more parts save less or nothing (--json has all).", left_out),
                   Style::kDim, Style::kDim);
  }
  if (sweep.next.empty()) return;
  page.Blank();
  page.Heading("Best next fix", "each twice as fast, in addition to those above", Style::kDim);
  std::vector<std::vector<Span>> fixes;
  for (const NextFix& fix : sweep.next) {
    fixes.push_back({{std::string(Name(fix.kind))},
                     {fix.name},
                     {FormatMs(fix.step_ms)},
                     {FormatMs(fix.saves_ms)}});
  }
  page.Table({{"part", TextColumn::Kind::kText},
              {"name", TextColumn::Kind::kName},
              {"step then"},
              {"saves"}},
             fixes);
}

}  // namespace headroom
