#include "answers/report/shown_row.h"

#include <fmt/format.h>

#include <utility>

#include "answers/report/phrases.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "render/row_id.h"

namespace headroom {
namespace {

/// A label and its printable value.
using Fact = std::pair<std::string_view, std::string>;

struct RowList {
  std::string_view kind;
  std::vector<TimeRow> TraceReport::*rows;
  CallTable table;
};
constexpr RowList kLists[] = {{"kernel", &TraceReport::kernels, CallTable::kKernels},
                              {"operator", &TraceReport::operators, CallTable::kOperators},
                              {"layer", &TraceReport::layers, CallTable::kLayers}};

void AddTime(std::vector<Fact>& facts, std::string_view label,
             const std::optional<DurationNs>& time) {
  if (time) facts.emplace_back(label, FormatTime(*time));
}

void Describe(const RowOfFile<TimeRow>& found, std::vector<Fact>& facts) {
  const TimeRow& row = *found.row;
  if (!found.file->gpu_time.empty()) {
    facts.emplace_back("GPU time", fmt::format("{}, {} of all GPU tasks", FormatTime(row.total),
                                               FormatPercent(row.share_pct)));
    facts.emplace_back(
        "per call", fmt::format("mean {}, median {}, {} to {}", MeanText(row), FormatTime(row.p50),
                                FormatTime(row.min), FormatTime(row.max)));
  }
  facts.emplace_back("calls", FormatCount(row.count));
  AddTime(facts, "host time", row.host);
  AddTime(facts, "host, self", row.self_host);
  AddTime(facts, "forward", row.forward);
  AddTime(facts, "backward", row.backward);
  if (row.flops) facts.emplace_back("FLOPs", fmt::format("{:.4g}", *row.flops));
  if (row.bytes) facts.emplace_back("bytes", fmt::format("{:.4g}", *row.bytes));
  if (!row.bound.empty()) facts.emplace_back("bound by", Printable(row.bound));
  if (row.roofline_pct)
    facts.emplace_back("roofline", FormatPercent(*row.roofline_pct) + " of its limit");
  if (!row.kind.empty()) facts.emplace_back("class", Printable(row.kind));
  if (!row.tensor_cores.empty()) facts.emplace_back("tensor cores", Printable(row.tensor_cores));
}

void Describe(const RowOfFile<StepRow>& found, std::vector<Fact>& facts) {
  const StepRow& row = *found.row;
  facts.emplace_back("begins", FormatTime(row.start - found.file->trace_start) + " into the trace");
  facts.emplace_back("wall", FormatTime(row.wall));
  AddTime(facts, "GPU busy", row.gpu_busy);
  AddTime(facts, "host", row.host);
  facts.emplace_back("GPU waits for host", FormatTime(row.host_wait));
  facts.emplace_back("recording cost", "roughly " + FormatTime(row.profiler_cost));
  if (row.lost_tasks) facts.emplace_back("whole", "no: some of its GPU tasks were not recorded");
}

void Describe(const RowOfFile<Finding>& found, const ReportOptions& options,
              std::vector<Fact>& facts) {
  const Finding& row = *found.row;
  if (row.share_pct) facts.emplace_back("share of step", FormatPercent(*row.share_pct));
  if (const std::string saves = SavesText(row); !saves.empty())
    facts.emplace_back("saves", Printable(saves));
  for (const std::string& evidence : row.evidence)
    facts.emplace_back("evidence", Printable(evidence));
  if (const std::string_view label = ActionLabel(row); !label.empty())
    facts.emplace_back(label, Printable(row.action));
  facts.emplace_back("check", CheckCommand(row, *found.file, options));
  if (const std::string command = ForecastCommand(row, *found.file, options); !command.empty())
    facts.emplace_back("forecast", command);
}

/// Describes the distribution of calls and the slowest ones: by step and time for the timeline, by
/// id for SQL.
void DescribeCalls(std::string_view kind, const RowCalls& calls, const TraceReport& file,
                   std::vector<Fact>& facts) {
  facts.emplace_back(calls.of_gpu ? "calls, GPU time" : "calls, host time",
                     fmt::format("min {}, p50 {}, p90 {}, p99 {}, max {}", FormatTime(calls.min),
                                 FormatTime(calls.p50), FormatTime(calls.p90),
                                 FormatTime(calls.p99), FormatTime(calls.max)));
  const std::string_view table = kind == "kernel" ? "gpu_tasks" : "host_events";
  std::string ids;
  for (const RowCall& call : calls.slowest) {
    std::string text = FormatTime(call.time);
    if (calls.of_gpu && call.host) text += fmt::format(" ({} on the host)", FormatTime(*call.host));
    text += call.step_index ? fmt::format(", step {}", *call.step_index) : ", in no step";
    text += fmt::format(", {} into the trace, id {} of {}",
                        FormatTime(call.start - file.trace_start), call.id, table);
    facts.emplace_back("slow call", std::move(text));
    ids += fmt::format("{}{}", ids.empty() ? "" : ", ", call.id);
  }
  // Names the columns, because Markdown would escape an asterisk.
  const std::string sql =
      fmt::format("SELECT id, start_ns, duration_ns, {}, args FROM {} WHERE id IN ({})",
                  kind == "kernel" ? "stream_id, launch_id" : "thread_id, parent_id", table, ids);
  facts.emplace_back("look them up", fmt::format("headroom query {} {}",
                                                 ShellQuote(file.input.path), ShellQuote(sql)));
}

template <typename Row>
void DescribeAll(const std::vector<RowOfFile<Row>>& rows, std::string_view kind,
                 const CallsByPath& calls, const ReportOptions& options, std::vector<Fact>& facts) {
  for (const RowOfFile<Row>& row : rows) {
    if (rows.size() > 1) facts.emplace_back("of", RankName(*row.file));
    if constexpr (std::is_same_v<Row, TimeRow>) {
      Describe(row, facts);
      if (const auto of_file = calls.find(row.file->input.path);
          of_file != calls.end() && of_file->second.count > 0)
        DescribeCalls(kind, of_file->second, *row.file, facts);
    } else if constexpr (std::is_same_v<Row, Finding>)
      Describe(row, options, facts);
    else
      Describe(row, facts);
  }
}

}  // namespace

std::optional<NamedRow> FindNamedRow(const TraceReport& report, std::string_view id) {
  for (const RowList& list : kLists) {
    if (id.size() < 2 || id[0] != list.kind.front() || id[1] != '-') continue;
    for (const TimeRow& row : report.*list.rows) {
      if (RowId(list.kind, row.name) == id) return NamedRow{list.table, row.name};
    }
  }
  return std::nullopt;
}

std::optional<ShownRow> FindRow(const JobReport& job, std::string_view id) {
  ShownRow found;
  for (const TraceReport& file : job.files()) {
    for (const RowList& list : kLists) {
      for (const TimeRow& row : file.*list.rows) {
        if (RowId(list.kind, row.name) != id) continue;
        found.kind = list.kind;
        found.times.push_back({&row, &file});
      }
    }
    for (const StepRow& row : file.steps.list) {
      if (fmt::format("step-{}", row.index) != id) continue;
      found.kind = "step";
      found.steps.push_back({&row, &file});
    }
  }
  for (const RowOfFile<Finding>& finding : job.findings()) {
    if (finding.row->id != id) continue;
    found.kind = "finding";
    found.findings.push_back(finding);
  }
  if (found.kind.empty()) return std::nullopt;
  return found;
}

std::string RenderShownRow(const ShownRow& row, const std::string& id, const CallsByPath& calls,
                           bool markdown, const ReportOptions& options) {
  std::vector<Fact> facts;
  const std::string name = !row.times.empty()      ? row.times.front().row->name
                           : !row.findings.empty() ? row.findings.front().row->title
                                                   : id;
  facts.emplace_back("id", Printable(id));
  facts.emplace_back("name", Printable(name));
  DescribeAll(row.times, row.kind, calls, options, facts);
  DescribeAll(row.steps, row.kind, calls, options, facts);
  DescribeAll(row.findings, row.kind, calls, options, facts);
  std::string out =
      markdown ? fmt::format("| {} | |\n|---|---|\n", row.kind) : fmt::format("One {}\n", row.kind);
  for (const auto& [label, value] : facts) {
    out += markdown ? fmt::format("| {} | {} |\n", label, EscapeMarkdown(value))
                    : fmt::format("  {:<18}  {}\n", label, value);
  }
  return out;
}

}  // namespace headroom
