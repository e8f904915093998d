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
  std::optional<GateResult> gate;  ///< None: no rule was given.
  std::size_t top = 8;             ///< Rows of each table of the text and the Markdown.
};

/// One screen.
std::string RenderDiffSummary(const DiffReport& report, const PageStyle& style);
/// All sections.
std::string RenderDiffText(const DiffReport& report, const PageStyle& style);
/// For a pull request: the verdict first. At most `max_bytes` long: tables lose rows first, then
/// the end is cut after a line. Each row of a table has the id that `report --show` takes.
/// REQUIRES: max_bytes >= 200.
std::string RenderDiffMarkdown(const DiffReport& report, std::size_t max_bytes);
/// headroom.diff/1; all rows.
std::string RenderDiffJson(const DiffReport& report);

/// What the text and the Markdown say alike. None of it is made printable yet.

/// "12.34 ms", with its sign where it is a change.
std::string MsText(double ms);
std::string ChangeMsText(double ms);
/// "+3.2 %"; empty where there is nothing to compare with.
std::string ChangePctText(double a, double b);
/// One sentence on the step: what it was and is, with the interval of the change.
std::string StepSentence(const JobDiff& diff);
/// Which rows of the account make up most of the change; empty: nothing changed beyond noise.
std::string ExplanationSentence(const JobDiff& diff);
/// What an account row is, for people; an operator's is its name.
std::string AccountLabel(const AccountRow& row);
/// A side: baseline or traces, steps and runs.
std::string SideText(const JobProfile& side);
/// How sure the step's interval is, and on what it rests.
std::string NoiseSentence(const JobDiff& diff);
/// How even the ranks are in both, and who is waited for; empty: neither is of several ranks.
std::vector<std::string> RankSentences(const JobDiff& diff);
/// The ranks, those whose computing changed most first.
std::vector<RankChange> RanksByChange(const JobDiff& diff);
/// The id of a row for `headroom report --show`; empty: a baseline has cut its name.
std::string IdOfRow(std::string_view kind, const RowChange& row);
/// A rule's measured change, e.g. "+5.1 % (+3.9 to +6.3)".
std::string RuleText(const RuleResult& result);
/// Why a gate cannot judge: the facts that differ; empty: it can.
std::string NotComparableText(const JobDiff& diff);

}  // namespace headroom
