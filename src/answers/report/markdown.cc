#include "answers/report/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "answers/report/phrases.h"
#include "answers/report/ranks_phrases.h"
#include "base/statistics.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "render/row_id.h"
#include "render/short_name.h"

namespace headroom {
namespace {

constexpr std::size_t kNameWidth = 60;
/// Maximum width of a sentence from the analyses, which may quote names of any length.
constexpr std::size_t kTextWidth = 400;

/// Escapes a sentence from the analyses, and keeps its `commands` as code. Quoted names may also
/// contain backticks, but these only begin code, in which markup has no effect.
std::string Escaped(std::string_view text) {
  const std::string line = CutMiddle(Printable(Sentence(text)), kTextWidth);
  std::string out;
  std::string_view rest = line;
  while (true) {
    const std::size_t begin = rest.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : rest.find('`', begin + 1);
    if (end == std::string_view::npos) return out + EscapeMarkdown(rest);
    const std::string_view code = rest.substr(begin + 1, end - begin - 1);
    out += EscapeMarkdown(rest.substr(0, begin));
    const std::string shown = MarkdownName(code);
    out += shown.starts_with('`') ? shown : fmt::format("\\`{}\\`", shown);
    rest.remove_prefix(end + 1);
  }
}

void Summary(std::string& out, const JobReport& job) {
  const TraceReport& file = job.slowest();
  const StepSummary& steps = job.steps();
  out += "| | |\n|---|---|\n";
  // With too many files to list, shows only the first. Issues below cover all files.
  const std::span<const TraceReport> files =
      job.files().first(std::min(kMarkdownTop, job.files().size()));
  const std::size_t more = job.files().size() - files.size();
  for (const TraceReport& input : files) {
    out += fmt::format("| trace | {} ({}) |\n",
                       MarkdownName(CutPath(Printable(input.input.path), 100)),
                       EscapeMarkdown(InputText(input.input)));
  }
  if (more > 0)
    out += fmt::format("| | and {} more |\n", Plural(static_cast<std::int64_t>(more), "file"));
  out += fmt::format("| health | **{}**: {} |\n", job.grade(), Escaped(GradeText(job)));
  if (steps.p50) {
    const std::string alone = steps.corrected ? "; " + CorrectedText(steps) : "";
    out += fmt::format("| step | **{}**, {}; median {}, {} to {}; {}{} |\n",
                       FormatTime(*steps.step_time), CountedText(steps), FormatTime(*steps.p50),
                       FormatTime(*steps.min), FormatTime(*steps.max),
                       EscapeMarkdown(StepSourceText(file.steps)), EscapeMarkdown(alone));
  } else {
    out += steps.count > 0 ? "| step | unknown: no step has all its GPU tasks recorded |\n"
                           : "| step | no steps found |\n";
  }
  for (const TraceReport& input : files) {
    for (const GpuTimeRow& row : input.gpu_time) {
      const auto device = std::find_if(input.input.devices.begin(), input.input.devices.end(),
                                       [&](const DeviceInfo& d) { return d.id == row.device; });
      const std::string name =
          device == input.input.devices.end() || device->name.empty()
              ? ""
              : fmt::format(" ({})",
                            EscapeMarkdown(CutMiddle(Printable(device->name), kNameWidth)));
      out += fmt::format("| {}GPU {}{} | busy {} of {} |\n",
                         job.single() ? "" : RankName(input) + ", ", NumberText(row.device), name,
                         FormatPercent(SharePct(row.busy, row.span)), FormatTime(row.span));
    }
  }
  if (const std::optional<InputWait>& wait = file.input_wait; wait && wait->host.ns() > 0)
    out += fmt::format("| input wait | {} |\n", InputWaitText(*wait));
  for (const MachineNote& note : file.machine_notes)
    out += fmt::format("| machine | {} |\n", Escaped(note.text));
  if (const Efficiency& e = file.efficiency; e.mfu_pct) {
    out += fmt::format("| MFU | {} ({}) |\n", FormatPercent(*e.mfu_pct), Escaped(e.mfu_formula));
  }
}

void Breakdown(std::string& out, const TraceReport& file) {
  if (!file.breakdown) return;
  const StepBreakdown& breakdown = *file.breakdown;
  const bool gpu = !file.gpu_time.empty();
  const auto row = [&](std::string_view name, DurationNs time, DurationNs busy) {
    out += fmt::format("| {} | {} | {} |", name, FormatMs(time),
                       FormatPercent(SharePct(time, breakdown.wall)));
    out += gpu ? fmt::format(" {} |\n", FormatMs(busy)) : "\n";
  };
  out += fmt::format("\n### Step breakdown ({})\n\n", BreakdownSubject(file));
  out += gpu ? "| part | time | share | GPU busy |\n|---|--:|--:|--:|\n"
             : "| part | time | share |\n|---|--:|--:|\n";
  for (const BreakdownPart& part : kBreakdownParts) {
    const DurationNs time = breakdown.step.*part.time;
    if (time.ns() != 0) row(part.label, time, breakdown.gpu.*part.time);
  }
  row("**step**", breakdown.wall, breakdown.gpu.Sum());
}

void Findings(std::string& out, const JobReport& job, const ReportOptions& options) {
  if (job.findings().empty()) return;
  out += "\n### Findings\n\n";
  if (const auto& engine = job.slowest().engine)
    out += fmt::format("Forecasts: {}.\n\n", Escaped(WindowText(*engine)));
  int number = 0;
  for (const RowOfFile<Finding>& finding : job.findings()) {
    out += fmt::format(
        "{}. **{}**{}{}\n", ++number, Escaped(finding.row->title),
        finding.row->share_pct ? fmt::format(" ({})", FormatPercent(*finding.row->share_pct)) : "",
        job.single() ? "" : fmt::format(" on {}", RankName(*finding.file)));
    if (const std::string saves = SavesText(*finding.row); !saves.empty())
      out += fmt::format("   - **Saves:** {}\n", Escaped(saves));
    for (const std::string& evidence : finding.row->evidence)
      out += fmt::format("   - {}\n", Escaped(evidence));
    out += "   - ";
    if (const std::string_view label = ActionLabel(*finding.row); !label.empty())
      out +=
          fmt::format("**{}:** {} ", Sentence(label), Escaped(FullSentence(finding.row->action)));
    out += fmt::format("**Check:** {}\n",
                       MarkdownCode(CheckCommand(*finding.row, *finding.file, options)));
  }
}

/// Returns a command that shows more of the data of this report.
std::string ReportCommandOf(const TraceReport& file, const ReportOptions& options,
                            std::string_view flags) {
  std::string command = "headroom report " + ShellQuote(file.input.path);
  for (const std::string& argument : options.check_arguments) command += " " + ShellQuote(argument);
  return fmt::format("{} {}", command, flags);
}

void Table(std::string& out, std::string_view title, std::string_view head, const TraceReport& file,
           bool kernels, const ReportOptions& options) {
  const std::vector<TimeRow>& rows = kernels ? file.kernels : file.operators;
  if (rows.empty()) return;
  const std::size_t count = std::min(rows.size(), options.top.value_or(kMarkdownTop));
  std::vector<std::string_view> raw;
  for (std::size_t i = 0; i < count; ++i) raw.push_back(rows[i].name);
  const std::vector<std::string> names = ShortNames(raw, kNameWidth, kernels, Charset::kUtf8);
  out += fmt::format(
      "\n### {}\n\n| {} | GPU time | share | calls | mean | id |\n|---|--:|--:|--:|--:|---|\n",
      title, head);
  for (std::size_t i = 0; i < count; ++i) {
    out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", MarkdownName(names[i]),
                       FormatMs(rows[i].total), FormatPercent(rows[i].share_pct),
                       FormatCount(rows[i].count), MeanText(rows[i]), RowId(head, rows[i].name));
  }
  if (count < rows.size()) {
    out += fmt::format("\n{} more: {}\n", rows.size() - count,
                       MarkdownCode(ReportCommandOf(
                           file, options, kernels ? "--only kernels" : "--only operators")));
  }
}

void Issues(std::string& out, const JobReport& job) {
  const bool any = std::any_of(job.issues().begin(), job.issues().end(),
                               [](const auto& issue) { return !issue.row->voids.empty(); });
  if (!any) return;
  out += "\n### Missing data\n\n";
  std::set<std::string_view> said;  // Codes that were written: one line covers all files.
  for (const RowOfFile<HealthIssue>& issue : job.issues()) {
    const std::string_view code = DocOf(issue.row->issue).code;
    if (issue.row->voids.empty() || !said.insert(code).second) continue;
    const auto files =
        std::count_if(job.issues().begin(), job.issues().end(),
                      [&](const auto& other) { return other.row->issue == issue.row->issue; });
    std::string where;
    if (!job.single() && !issue.row->of_set) {
      where = RankName(*issue.file) +
              (files > 1 ? fmt::format(" and {} more", files - 1) : std::string()) + ": ";
    }
    out += fmt::format("- {}`{}` ({}): {} Unreliable: {}.\n", where, code,
                       FormatCount(issue.row->count), Escaped(FullSentence(issue.row->detail)),
                       EscapeMarkdown(Join(issue.row->voids)));
  }
}

std::string RenderWhole(std::span<const TraceReport> files, const ReportOptions& options) {
  const JobReport job(files);
  const TraceReport& file = job.slowest();
  std::string out = fmt::format("## Headroom: {}\n\n**{}**{}\n\n", NameOf(file.bottleneck.verdict),
                                VerdictText(file.bottleneck),
                                job.single() ? "" : fmt::format(" ({})", job.SlowestNote()));
  for (const std::string& evidence : file.bottleneck.evidence)
    out += fmt::format("- {}\n", Escaped(evidence));
  if (!file.bottleneck.evidence.empty()) out += "\n";
  if (options.ranks != nullptr && !options.ranks->waits.classes.empty())
    out += fmt::format("**Ranks.** {}\n\n", Escaped(RanksVerdict(*options.ranks)));
  if (options.ranks != nullptr && options.ranks->pipeline)
    out += fmt::format("**Pipeline.** {}\n\n", Escaped(PipelineVerdict(*options.ranks->pipeline)));
  Summary(out, job);
  Breakdown(out, file);
  Findings(out, job, options);
  if (!file.gpu_time.empty()) {
    Table(out, "Kernels", "kernel", file, true, options);
    Table(out, "Operators", "operator", file, false, options);
  }
  Issues(out, job);
  return out;
}

}  // namespace

std::string RenderMarkdown(std::span<const TraceReport> files, const ReportOptions& options,
                           std::size_t max_bytes) {
  std::string out = RenderWhole(files, options);
  ReportOptions shorter = options;
  for (const std::size_t top : {std::size_t{3}, std::size_t{1}}) {
    if (out.size() <= max_bytes) return out;
    shorter.top = std::min(top, options.top.value_or(kMarkdownTop));
    out = RenderWhole(files, shorter);
  }
  if (out.size() <= max_bytes) return out;
  std::string remark = fmt::format("\nThe rest is left out: {}\n",
                                   MarkdownCode(ReportCommandOf(JobReport(files).slowest(), options,
                                                                "--md --max-bytes 1000000")));
  if (remark.size() > max_bytes / 2)
    remark = "\nThe rest is left out.\n";  // The path in the command is too long.
  // Cuts at whole lines, because a line begins with markup.
  out.resize(out.rfind('\n', max_bytes - remark.size() - 1) + 1);
  return out + remark;
}

}  // namespace headroom
