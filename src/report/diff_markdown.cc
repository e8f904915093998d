#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <vector>

#include "report/diff_report.h"
#include "report/short_name.h"

namespace headroom {
namespace {

void AddRows(std::string_view title, const std::vector<RowChange>& all, std::size_t top,
             double step_ms, std::string& out) {
  constexpr double kLeast = 0.0005;  // Of the step.
  std::string rows;
  std::size_t count = 0;
  for (const RowChange& row : all) {
    if (count == top || std::abs(row.ms.delta) < kLeast * step_ms) break;
    ++count;
    const std::string note = row.state == RowChange::State::kNew    ? " (new)"
                             : row.state == RowChange::State::kGone ? " (gone)"
                                                                    : "";
    rows += fmt::format("| {}{} | {:.3f} | {:.3f} | {:+.3f} | {:.4g} | {:.4g} |\n",
                        MarkdownName(ReadableKernelName(row.name)), note, row.ms.a, row.ms.b,
                        row.ms.delta, row.calls_a, row.calls_b);
  }
  if (rows.empty()) return;
  out += fmt::format(
      "\n<details><summary>{}: GPU time, ms a step</summary>\n\n| | A | B | change | calls A | "
      "calls B |\n|---|---:|---:|---:|---:|---:|\n{}\n</details>\n",
      title, rows);
}

}  // namespace

std::string RenderDiffMarkdown(const DiffReport& report) {
  const JobDiff& diff = report.diff;
  std::string out = "## Headroom: what changed\n\n";
  if (report.gate) {
    out += fmt::format("**Gate: {}**\n\n", NameOf(report.gate->verdict));
    if (report.gate->verdict == GateVerdict::kNotComparable)
      out += fmt::format("The runs are {}.\n\n", EscapeMarkdown(NotComparableText(diff)));
    out += "| rule | verdict | measured |\n|---|---|---|\n";
    for (const RuleResult& row : report.gate->rules) {
      std::string text = RuleText(row);
      if (row.measured && !row.why.empty()) text += "; " + row.why;
      out += fmt::format("| {} | {} | {} |\n", MarkdownName(row.rule.text), NameOf(row.verdict),
                         EscapeMarkdown(text));
    }
    out += "\n";
  }
  out += fmt::format("* **Step**: {}\n", EscapeMarkdown(StepSentence(diff)));
  if (diff.corrected) {
    out +=
        fmt::format("* Without the profiler: {} -> {} ({})\n", MsText(diff.corrected->a),
                    MsText(diff.corrected->b), ChangePctText(diff.corrected->a, diff.corrected->b));
  }
  out += fmt::format("* {}\n", EscapeMarkdown(NoiseSentence(diff)));
  if (const std::string why = ExplanationSentence(diff); !why.empty())
    out += fmt::format("* **Why**: {}\n", EscapeMarkdown(why));
  out += fmt::format("* A: {}\n* B: {}\n", EscapeMarkdown(SideText(diff.a)),
                     EscapeMarkdown(SideText(diff.b)));
  std::string differ;
  for (const ComparedFact& fact : diff.facts) {
    if (fact.state != FactState::kDifferent) continue;
    differ += fmt::format("| {}{} | {} | {} |\n", EscapeMarkdown(fact.label),
                          fact.accepted ? " (accepted)" : "", EscapeMarkdown(fact.a),
                          EscapeMarkdown(fact.b));
  }
  if (!differ.empty()) out += fmt::format("\n| different | A | B |\n|---|---|---|\n{}", differ);
  out += "\n| part of the step | A, ms | B, ms | change, ms |\n|---|---:|---:|---:|\n";
  double a = 0, b = 0;
  for (const AccountRow& row : diff.account) {
    a += row.a_ms;
    b += row.b_ms;
    out += fmt::format("| {} | {:.3f} | {:.3f} | {:+.3f} |\n",
                       row.of_operator ? MarkdownName(row.name) : AccountLabel(row), row.a_ms,
                       row.b_ms, row.change_ms());
  }
  out += fmt::format("| **the step (median)** | {:.3f} | {:.3f} | {:+.3f} |\n", a, b, b - a);
  AddRows("Operators", diff.operators, report.top, diff.step.a, out);
  AddRows("Kernels", diff.kernels, report.top, diff.step.a, out);
  AddRows("Layers", diff.layers, report.top, diff.step.a, out);
  return out;
}

}  // namespace headroom
