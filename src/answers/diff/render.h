// The report of `headroom diff`: two jobs side by side, what changed, and a gate's verdict.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/gate.h"
#include "compare/job_diff.h"
#include "render/text_page.h"

namespace headroom {

struct DiffReport {
  JobDiff diff;
  std::optional<GateResult> gate;  ///< Absent without a rule.
  std::size_t top = 8;             ///< Rows of each table of the text and the Markdown.
};

/// Returns one screen.
std::string RenderDiffSummary(const DiffReport& report, const PageStyle& style);
/// Returns all sections.
std::string RenderDiffText(const DiffReport& report, const PageStyle& style);
/// Returns Markdown for a pull request, with the verdict first. It has at most `max_bytes`: tables
/// lose rows first, then the end is cut after a line. Each row of a table has the id that `report
/// --show` takes. Requires max_bytes >= 200.
std::string RenderDiffMarkdown(const DiffReport& report, std::size_t max_bytes);
/// Returns headroom.diff/1 with all rows.
std::string RenderDiffJson(const DiffReport& report);

/// Phrases that the text and Markdown reports share. The caller must escape names in them.

/// Returns "12.34 ms". ChangeMsText() adds the sign.
std::string MsText(double ms);
std::string ChangeMsText(double ms);
/// Returns the change from `a` to `b`, such as "+3.2 %"; empty if `a` is 0.
std::string ChangePctText(double a, double b);
/// Returns a sentence on the step: before, after, and the interval of the change.
std::string StepSentence(const JobDiff& diff);
/// Returns a sentence with the account rows that make up most of the change; empty if nothing
/// changed beyond noise.
std::string ExplanationSentence(const JobDiff& diff);
/// Returns the label of an account row: for an operator, its name.
std::string AccountLabel(const AccountRow& row);
/// Describes a side: baseline or traces, steps and runs.
std::string SideText(const JobProfile& side);
/// Describes the source and certainty of the step's interval.
std::string NoiseSentence(const JobDiff& diff);
/// Returns sentences on load balance and late ranks of both sides; empty if neither side has
/// several ranks.
std::vector<std::string> RankSentences(const JobDiff& diff);
/// Returns the ranks, largest change in compute time first.
std::vector<RankChange> RanksByChange(const JobDiff& diff);
/// Returns the id of a row for `headroom report --show`; empty if a baseline shortened its name.
std::string IdOfRow(std::string_view kind, const RowChange& row);
/// Returns a rule's measured change, e.g. "+5.1 % (+3.9 to +6.3)".
std::string RuleText(const RuleResult& result);
/// Returns the differing facts that stop a gate from judging; empty if it can judge.
std::string NotComparableText(const JobDiff& diff);

}  // namespace headroom
