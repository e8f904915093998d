#include "answers/whatif/self_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

std::string Figure(double figure, std::string_view unit) {
  if (unit.empty()) return fmt::format("{:.0f}", figure);
  return unit == "x" ? fmt::format("{:.3f}x", figure) : fmt::format("{:.3f} {}", figure, unit);
}

std::string Limits(const SelfCheck& check) {
  if (!check.low) return "at most " + Figure(*check.high, check.unit);
  if (!check.high) return "at least " + Figure(*check.low, check.unit);
  return Figure(*check.low, check.unit) + " to " + Figure(*check.high, check.unit);
}

}  // namespace

void WriteSelfCheckJson(std::span<const SelfCheck> checks, JsonWriter& json) {
  json.BeginArray(Layout::kLines);
  for (const SelfCheck& check : checks) {
    json.BeginObject();
    json.Key("name").String(check.name);
    json.Key("expectation").String(check.expectation);
    json.Key("figure").Number(check.figure);
    json.Key("unit").StringOrNull(check.unit);
    json.Key("low").Number(check.low);
    json.Key("high").Number(check.high);
    json.Key("passed").Bool(check.passed());
    json.EndObject();
  }
  json.EndArray();
}

void WriteSelfCheckText(std::span<const SelfCheck> checks, TextPage& page) {
  const auto failed =
      std::count_if(checks.begin(), checks.end(), [](const SelfCheck& c) { return !c.passed(); });
  page.Blank();
  page.Heading("Self-check",
               failed == 0 ? fmt::format("all {} hold", checks.size())
                           : fmt::format("{} of {} FAILED", failed, checks.size()),
               failed == 0 ? Style::kGood : Style::kBad);
  std::vector<std::vector<Span>> rows;
  for (const SelfCheck& check : checks) {
    rows.push_back({{std::string(check.name)},
                    {Figure(check.figure, check.unit)},
                    {Limits(check)},
                    check.passed() ? Span{"pass", Style::kGood} : Span{"FAIL", Style::kBad}});
  }
  page.Table(
      {{"check", TextColumn::Kind::kText}, {"figure"}, {"must be"}, {"", TextColumn::Kind::kText}},
      rows);
  page.Blank();
  for (const SelfCheck& check : checks)
    page.Paragraph(fmt::format("  {}: ", check.name), check.expectation, Style::kBold);
}

}  // namespace headroom
