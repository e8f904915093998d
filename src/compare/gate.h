// Rules that a comparison must meet, e.g. `step_ms<=+3%`, and their verdicts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"
#include "compare/estimate.h"
#include "compare/job_diff.h"

namespace headroom {

/// METRIC<=LIMIT or METRIC>=LIMIT. A limit with a sign applies to the change from A to B, in
/// percent of A's value or in the metric's unit. A limit without a sign applies to B's value.
struct GateRule {
  enum class Limit { kPercent, kChange, kValue };
  std::string text = {};    ///< The rule as the user wrote it.
  std::string metric = {};  ///< A name of GateMetrics(), or kernel:NAME, operator:NAME, layer:NAME.
  bool at_most = true;
  Limit kind = Limit::kPercent;
  double limit = 0;  ///< In percent or in the metric's unit.
};

/// Returns the names of the fixed metrics, without those of a kernel, operator or layer.
std::vector<std::string_view> GateMetrics();

/// Returns "ms" or "MB"; empty for a count and for unknown metrics.
std::string_view GateUnit(std::string_view metric);

/// Fails with kUsage. The message names the error and, for an unknown metric, the nearest name.
Result<GateRule> ParseGateRule(std::string_view text);

/// Reads `[[rule]]` tables with `metric` and `limit`. Fails with kUsage as ParseGateRule() does, or
/// if the file has no rule.
Result<std::vector<GateRule>> ReadGateRules(const NamedText& file);

enum class GateVerdict { kPass, kFail, kInconclusive, kMissing, kNotComparable };

/// Returns "pass", "fail", "inconclusive", "missing" or "not comparable".
std::string_view NameOf(GateVerdict verdict);

struct RuleResult {
  GateRule rule = {};
  GateVerdict verdict = GateVerdict::kInconclusive;  ///< Never kNotComparable.
  /// Change from A to B, or from 0 to B for a limit on B's value. Absent figures count as 0.
  Difference change = {};
  bool measured = false;  ///< True if `change` is valid.
  double threshold = 0;   ///< Limit on `change.delta`.
  /// Reason for any verdict but a pass, and a remedy; for a pass, a caveat.
  std::string why = {};
};

struct GateResult {
  GateVerdict verdict = GateVerdict::kPass;
  std::vector<RuleResult> rules;
};

/// Judges each rule by the 95 % interval of its change:
/// - fail: the whole interval is beyond the limit;
/// - pass: the whole interval is within the limit;
/// - inconclusive: the interval contains the limit;
/// - missing: a run lacks the figure, so the rule was not checked.
///
/// If the noise follows the model, a change within the limit fails in at most 1 of 40 runs. A
/// relative limit on a time tolerates a thousandth of the step, because a smaller change does not
/// justify a failed job.
///
/// The gate is "not comparable" if the runs are not comparable. Otherwise its verdict is the first
/// of fail, missing and inconclusive that any rule has, else pass. Fails with kUsage if a rule
/// names a kernel, operator or layer that neither run has.
Result<GateResult> JudgeGate(const JobDiff& diff, const std::vector<GateRule>& rules);

}  // namespace headroom
