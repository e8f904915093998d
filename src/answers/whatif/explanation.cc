#include "answers/whatif/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "render/number_format.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

/// Maximum number of rows in each list of the critical path in text. JSON has all rows.
constexpr std::size_t kRows = 6;

/// Smaller times round to 0 and get no row.
constexpr double kNothingMs = 0.0005;

void WriteParts(std::string_view key, const std::vector<PathPart>& parts, JsonWriter& json) {
  json.Key(key).BeginArray(Layout::kLines);
  for (const PathPart& part : parts) {
    json.BeginObject();
    json.Key("name").String(part.name);
    json.Key("path_ms").Number(part.ms);
    json.Key("links").Number(part.links > 0 ? std::optional(part.links) : std::nullopt);
    json.EndObject();
  }
  json.EndArray();
}

void WriteSlack(std::string_view key, const SlackSummary& slack, JsonWriter& json) {
  json.Key(key).BeginObject();
  json.Key("busy_ms").Number(slack.busy_ms);
  json.Key("critical_ms").Number(slack.critical_ms);
  json.Key("median_ms").Number(slack.median_ms);
  json.EndObject();
}

void WritePlan(const PlanExplanation& plan, JsonWriter& json) {
  json.BeginObject(Layout::kLines);
  json.Key("name").StringOrNull(plan.name);
  json.Key("step_ms").Number(plan.step_ms);
  json.Key("host_ms").Number(plan.host_ms);
  json.Key("gpu_ms").Number(plan.gpu_ms);
  json.Key("waits_ms").Number(plan.waits_ms);
  WriteParts("phases", plan.phases, json);
  WriteParts("operators", plan.operators, json);
  WriteParts("calls", plan.calls, json);
  WriteParts("kernels", plan.kernels, json);
  WriteParts("waits", plan.waits, json);
  WriteSlack("host_slack", plan.host_slack, json);
  WriteSlack("gpu_slack", plan.gpu_slack, json);
  json.EndObject();
}

void AddTable(std::string_view head, const std::vector<PathPart>& parts, double step_ms,
              TextColumn::Kind kind, TextPage& page) {
  std::vector<std::vector<Span>> rows;
  double rest = 0;
  std::size_t left_out = 0;
  for (const PathPart& part : parts) {
    if (std::abs(part.ms) < kNothingMs) continue;
    if (rows.size() == kRows) {
      rest += part.ms;
      ++left_out;
      continue;
    }
    rows.push_back({{part.name},
                    {part.links > 0 ? fmt::format("{:.1f}", part.links) : std::string()},
                    {FormatMs(part.ms)},
                    {fmt::format("{:.1f} %", 100 * part.ms / step_ms)}});
  }
  if (rows.empty()) return;
  if (left_out > 0) {
    rows.push_back({{fmt::format("({} more)", left_out), Style::kDim},
                    {""},
                    {FormatMs(rest)},
                    {fmt::format("{:.1f} %", 100 * rest / step_ms)}});
  }
  page.Blank();
  page.Table({{std::string(head), kind}, {"per step"}, {"on the path"}, {"share"}}, rows);
}

std::string SlackText(std::string_view side, const SlackSummary& slack) {
  if (slack.busy_ms <= 0) return fmt::format("the {} has no work", side);
  return fmt::format("{} {} time: {:.0f} % has no slack, half has at least {}",
                     FormatMs(slack.busy_ms), side, 100 * slack.critical_ms / slack.busy_ms,
                     FormatMs(slack.median_ms));
}

void AddPlan(const PlanExplanation& plan, TextPage& page) {
  page.Blank();
  page.Heading(
      plan.name.empty() ? "Causes of the step time" : "Causes of the step time after the change",
      plan.name, Style::kDim);
  page.Paragraph(
      "  Critical path  ",
      fmt::format("{}: {} host, {} GPU, {} latencies and gaps", FormatMs(plan.step_ms),
                  FormatMs(plan.host_ms), FormatMs(plan.gpu_ms), FormatMs(plan.waits_ms)),
      Style::kBold);
  page.Paragraph("  Slack          ",
                 SlackText("GPU", plan.gpu_slack) + "; " + SlackText("host", plan.host_slack),
                 Style::kBold);
  AddTable("host time by phase", plan.phases, plan.step_ms, TextColumn::Kind::kName, page);
  AddTable("host work by operator", plan.operators, plan.step_ms, TextColumn::Kind::kName, page);
  AddTable("API calls", plan.calls, plan.step_ms, TextColumn::Kind::kName, page);
  AddTable("GPU work", plan.kernels, plan.step_ms, TextColumn::Kind::kKernel, page);
  AddTable("latencies and gaps", plan.waits, plan.step_ms, TextColumn::Kind::kName, page);
}

}  // namespace

void WriteExplanationJson(const Explanation& explanation, JsonWriter& json) {
  json.BeginObject(Layout::kLines);
  json.Key("plans").BeginArray(Layout::kLines);
  for (const PlanExplanation& plan : explanation.plans) WritePlan(plan, json);
  json.EndArray();
  const Ledger& ledger = explanation.ledger;
  json.Key("ledger").BeginObject(Layout::kLines);
  json.Key("host_ms").Milliseconds(ledger.host);
  json.Key("waits_ms").Milliseconds(ledger.waits);
  json.Key("unexplained_host_ms").Milliseconds(ledger.unexplained_host);
  json.Key("unexplained_gpu_ms").Milliseconds(ledger.unexplained_gpu);
  json.Key("anchored_tasks").Integer(ledger.anchored_tasks);
  json.Key("dropped_edges").Integer(ledger.dropped_edges);
  json.EndObject();
  json.Key("edges").BeginArray(Layout::kLines);
  for (const EdgeCounts& edges : explanation.edges) {
    json.BeginObject();
    json.Key("kind").String(Name(edges.kind));
    json.Key("recorded").Integer(edges.recorded);
    json.Key("resolved").Integer(edges.resolved);
    json.Key("inferred").Integer(edges.inferred);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteExplanationText(const Explanation& explanation, TextPage& page) {
  for (const PlanExplanation& plan : explanation.plans) AddPlan(plan, page);
  const Ledger& ledger = explanation.ledger;
  page.Blank();
  page.Heading("Coverage of the graph", "all recorded steps", Style::kDim);
  page.Paragraph("  Host  ",
                 fmt::format("{} on host threads, including {} of waits, which are edges, and {} "
                             "of gaps that no event covers",
                             FormatMs(ledger.host.ms()), FormatMs(ledger.waits.ms()),
                             FormatMs(ledger.unexplained_host.ms())),
                 Style::kBold);
  page.Paragraph("  GPU   ",
                 fmt::format("{} of late starts that no edge explains; {} tasks without a launch; "
                             "{} edges dropped because recorded times contradict them",
                             FormatMs(ledger.unexplained_gpu.ms()), ledger.anchored_tasks,
                             ledger.dropped_edges),
                 Style::kBold);
  std::vector<std::vector<Span>> rows;
  for (const EdgeCounts& edges : explanation.edges) {
    const auto count = [](std::int64_t n) {
      return Span{n == 0 ? std::string() : fmt::format("{}", n)};
    };
    rows.push_back({{std::string(Name(edges.kind))},
                    count(edges.recorded),
                    count(edges.resolved),
                    count(edges.inferred)});
  }
  page.Blank();
  page.Table({{"edges", TextColumn::Kind::kText}, {"recorded"}, {"resolved"}, {"inferred"}}, rows);
}

}  // namespace headroom
