#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "answers/diff/render.h"
#include "render/short_name.h"

namespace headroom {
namespace {

constexpr std::size_t kNameWidth = 100;

void AddRows(std::string_view title, std::string_view kind, const std::vector<RowChange>& all,
             std::size_t top, double step_ms, std::string& out) {
  constexpr double kMin = 0.0005;  // As a share of the step.
  std::string rows;
  std::size_t count = 0;
  for (const RowChange& row : all) {
    if (std::abs(row.ms.delta) < kMin * step_ms) break;
    if (++count > top) continue;
    const std::string note = row.state == RowChange::State::kNew    ? " (new)"
                             : row.state == RowChange::State::kGone ? " (gone)"
                                                                    : "";
    rows += fmt::format(
        "| {}{} | {:.3f} | {:.3f} | {:+.3f} | {:.4g} | {:.4g} | {} |\n",
        MarkdownName(CutMiddle(Printable(ReadableKernelName(row.name)), kNameWidth)), note,
        row.ms.a, row.ms.b, row.ms.delta, row.calls_a, row.calls_b, IdOfRow(kind, row));
  }
  if (rows.empty()) return;
  out += fmt::format(
      "\n<details><summary>{}: GPU time, ms per step</summary>\n\n| | A | B | change | calls A | "
      "calls B | id |\n|---|---:|---:|---:|---:|---:|---|\n{}\n",
      title, rows);
  if (count > top) out += fmt::format("{} more with `--json`.\n\n", count - top);
  out += "</details>\n";
}

void AddRanks(const JobDiff& diff, std::size_t top, std::string& out) {
  if (diff.ranks.empty()) return;
  out += "\n<details><summary>Ranks: ms per step</summary>\n\n";
  for (const std::string& sentence : RankSentences(diff))
    out += fmt::format("* {}\n", EscapeMarkdown(sentence));
  out +=
      "\n| rank | step A | step B | compute A | compute B | exposed communication A | exposed "
      "communication B |\n|---:|---:|---:|---:|---:|---:|---:|\n";
  const std::vector<RankChange> ranks = RanksByChange(diff);
  for (std::size_t i = 0; i < std::min(top, ranks.size()); ++i) {
    out += fmt::format("| {} |", ranks[i].rank);
    for (const auto figure : {&RankFigures::step_ms, &RankFigures::compute_ms,
                              &RankFigures::exposed_communication_ms}) {
      for (const std::optional<RankFigures>& side : {ranks[i].a, ranks[i].b})
        out += side ? fmt::format(" {:.3f} |", *side.*figure) : " |";
    }
    out += "\n";
  }
  out += "\n";
  if (ranks.size() > top) out += fmt::format("{} more with `--json`.\n\n", ranks.size() - top);
  out += "</details>\n";
}

std::string RenderWhole(const DiffReport& report, std::size_t top) {
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
  AddRanks(diff, top, out);
  AddRows("Operators", "operator", diff.operators, top, diff.step.a, out);
  AddRows("Kernels", "kernel", diff.kernels, top, diff.step.a, out);
  AddRows("Layers", "layer", diff.layers, top, diff.step.a, out);
  if (diff.b.baseline.empty() && diff.b.paths.size() == 1) {
    out += fmt::format("\nOne row of B: {}\n",
                       MarkdownCode(fmt::format("headroom report {} --show ID",
                                                ShellQuote(diff.b.paths.front()))));
  }
  return out;
}

}  // namespace

std::string RenderDiffMarkdown(const DiffReport& report, std::size_t max_bytes) {
  std::string out = RenderWhole(report, report.top);
  for (const std::size_t top : {std::size_t{3}, std::size_t{1}}) {
    if (out.size() <= max_bytes) return out;
    out = RenderWhole(report, std::min(top, report.top));
  }
  if (out.size() <= max_bytes) return out;
  constexpr std::string_view kRemark = "\nThe rest is left out: a larger `--max-bytes` shows it.\n";
  // Cuts after whole lines, because a line begins with markup. Leaves no <details> open.
  out.resize(out.rfind('\n', max_bytes - kRemark.size() - 1) + 1);
  const std::size_t opened = out.rfind("\n<details>"), closed = out.rfind("</details>");
  if (opened != std::string::npos && (closed == std::string::npos || closed < opened))
    out.resize(opened + 1);
  return out + std::string(kRemark);
}

}  // namespace headroom
