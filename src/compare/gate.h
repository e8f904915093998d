// Rules that a comparison must keep, e.g. `step_ms<=+3%`, and whether it does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"
#include "compare/estimate.h"
#include "compare/job_diff.h"

namespace headroom {

/// METRIC<=LIMIT or METRIC>=LIMIT. A limit with a sign is of the change from A to B, in percent of
/// A's value or in the metric's unit; one without is of B's value.
struct GateRule {
  enum class Limit { kPercent, kChange, kValue };
  std::string text = {};    ///< As the user wrote it.
  std::string metric = {};  ///< A name of GateMetrics(), or kernel:NAME, operator:NAME, layer:NAME.
  bool at_most = true;
  Limit kind = Limit::kPercent;
  double limit = 0;  ///< Percent, or in the metric's own unit.
};

/// The names of metrics that are always the same; those by kernel, operator and layer beside them.
std::vector<std::string_view> GateMetrics();

/// "ms", "MB"; empty of a count and of what is no metric.
std::string_view GateUnit(std::string_view metric);

/// Fails (kUsage) with what is wrong, and the nearest name for an unknown one.
Result<GateRule> ParseGateRule(std::string_view text);

/// Reads `[[rule]]` tables with `metric` and `limit`. Fails (kUsage) as ParseGateRule() does, or
/// where the file has no rule.
Result<std::vector<GateRule>> ReadGateRules(const NamedText& file);

enum class GateVerdict { kPass, kFail, kInconclusive, kMissing, kNotComparable };

/// "pass", "fail", "inconclusive", "missing", "not comparable".
std::string_view NameOf(GateVerdict verdict);

struct RuleResult {
  GateRule rule = {};
  GateVerdict verdict = GateVerdict::kInconclusive;  ///< Never kNotComparable.
  /// Absent figures are 0 in it; of a limit on B's value, from 0.
  Difference change = {};
  bool measured = false;  ///< Whether `change` says anything.
  double threshold = 0;   ///< Which `change.delta` is held against.
  std::string why = {};   ///< Of what did not pass, and what would tell; of a pass: a caveat.
};

struct GateResult {
  GateVerdict verdict = GateVerdict::kPass;
  std::vector<RuleResult> rules;
};

/// A rule fails where the whole interval of the change is beyond the limit, passes where all of it
/// is within, and is inconclusive else. So a change that is within the limit fails in 1 of 40 runs
/// at most, as far as the noise is as the model says. A relative limit on a time forgives a
/// thousandth of the step: less is not worth a failed job. A rule is missing where a run lacks its
/// figure: nothing was checked, and that is no pass.
///
/// The gate is "not comparable" where the runs are not, whatever the rules say; else it fails with
/// any rule, is missing with any, and inconclusive with any. Fails (kUsage) where a rule names a
/// kernel, operator or layer that neither run has.
Result<GateResult> JudgeGate(const JobDiff& diff, const std::vector<GateRule>& rules);

}  // namespace headroom
