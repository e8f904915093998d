#include "compare/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cost/toml_row.h"

namespace headroom {
namespace {

/// Share of A's step that a relative limit on a time tolerates.
constexpr double kForgiven = 0.001;

constexpr std::string_view kSteps = "whole steps";
constexpr std::string_view kGpuWork = "recorded GPU work";
constexpr std::string_view kHostWork = "recorded host work";
constexpr std::string_view kRanks = "traces of several ranks";

struct MetricDoc {
  std::string_view name;
  std::string_view unit;
  std::string_view needs;  ///< Data that a trace must contain for this metric.
};
constexpr std::array kMetrics = {
    MetricDoc{"step_ms", "ms", kSteps},
    MetricDoc{"corrected_step_ms", "ms", "steps that the simulator can replay"},
    MetricDoc{"mean_step_ms", "ms", kSteps},
    MetricDoc{"slowest_rank_step_ms", "ms", kRanks},
    MetricDoc{"busiest_rank_compute_ms", "ms", kRanks},
    MetricDoc{"samples_per_s", "",
              "the number of samples per step, from recorded shapes or a loader's range"},
    MetricDoc{"gpu_busy_ms", "ms", kGpuWork},
    MetricDoc{"gpu_idle_ms", "ms", kGpuWork},
    MetricDoc{"gpu_work_ms", "ms", kGpuWork},
    MetricDoc{"gpu_tasks", "", kGpuWork},
    MetricDoc{"operators", "", "recorded operators"},
    MetricDoc{"memory_peak_mb", "MB", "memory events, recorded with profile_memory=True"},
    MetricDoc{"compute_ms", "ms", kGpuWork},
    MetricDoc{"exposed_communication_ms", "ms", kGpuWork},
    MetricDoc{"copies_to_gpu_ms", "ms", kGpuWork},
    MetricDoc{"other_copies_ms", "ms", kGpuWork},
    MetricDoc{"data_wait_ms", "ms", kHostWork},
    MetricDoc{"callback_ms", "ms", kHostWork},
    MetricDoc{"host_wait_ms", "ms", kHostWork},
    MetricDoc{"queue_wait_ms", "ms", kGpuWork},
    MetricDoc{"unexplained_ms", "ms", kGpuWork},
    MetricDoc{"phase.data_wait_ms", "ms", kHostWork},
    MetricDoc{"phase.host_to_device_ms", "ms", kHostWork},
    MetricDoc{"phase.forward_ms", "ms", kHostWork},
    MetricDoc{"phase.backward_ms", "ms", kHostWork},
    MetricDoc{"phase.optimizer_ms", "ms", kHostWork},
    MetricDoc{"phase.communication_ms", "ms", kHostWork},
    MetricDoc{"phase.callback_ms", "ms", kHostWork},
    MetricDoc{"phase.other_ms", "ms", kHostWork},
};

/// A table whose rows a rule can name.
struct RowTable {
  std::string_view prefix;
  std::vector<RowChange> JobDiff::*changes;
  std::vector<ProfileRow> JobProfile::*rows;
};
constexpr std::array kTables = {
    RowTable{"kernel:", &JobDiff::kernels, &JobProfile::kernels},
    RowTable{"operator:", &JobDiff::operators, &JobProfile::operators},
    RowTable{"layer:", &JobDiff::layers, &JobProfile::layers},
};

const RowTable* TableOf(std::string_view metric) {
  for (const RowTable& table : kTables) {
    if (metric.starts_with(table.prefix) && metric.size() > table.prefix.size()) return &table;
  }
  return nullptr;
}

/// Returns nullptr for the metric of a row and for unknown metrics.
const MetricDoc* DocOf(std::string_view metric) {
  const auto* doc = std::find_if(kMetrics.begin(), kMetrics.end(),
                                 [&](const MetricDoc& row) { return row.name == metric; });
  return doc != kMetrics.end() ? doc : nullptr;
}

/// Returns the unit of a metric; nullopt for unknown metrics.
std::optional<std::string_view> UnitOf(std::string_view metric) {
  if (TableOf(metric) != nullptr) return "ms";
  const MetricDoc* doc = DocOf(metric);
  return doc != nullptr ? std::optional(doc->unit) : std::nullopt;
}

/// Returns the factor from the written unit to the metric's unit; nullopt if the metric does not
/// have that unit.
std::optional<double> UnitFactor(std::string_view written, std::string_view own) {
  if (written.empty() || written == own) return 1;
  if (own == "ms" && written == "us") return 1e-3;
  if (own == "ms" && written == "s") return 1e3;
  if (own == "MB" && written == "GB") return 1e3;
  return std::nullopt;
}

Status WrongRule(std::string_view text, std::string_view what) {
  return Status::Usage(fmt::format(
      "gate rule '{}': {}; a rule is METRIC<=LIMIT or METRIC>=LIMIT, e.g. 'step_ms<=+3%', "
      "'data_wait_ms<=+0.5ms', 'memory_peak_mb<=40GB'",
      text, what));
}

std::string JoinNames(const std::vector<std::string_view>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Measures a rule's metric. Sets `measured` to false if a run lacks it.
Result<RuleResult> Measure(const JobDiff& diff, const GateRule& rule) {
  RuleResult result{.rule = rule};
  const auto take = [&](std::span<const Estimate> a, std::span<const Estimate> b) {
    const double run_to_run = RunToRun(diff.a, diff.b, rule.metric);
    const Estimate zero = {.value = 0, .error = 0, .freedom = 1};
    result.change = rule.kind == GateRule::Limit::kValue
                        ? ChangeOf(std::span(&zero, 1), b, run_to_run)
                        : ChangeOf(a, b, run_to_run);
    result.measured = true;
  };
  if (const RowTable* table = TableOf(rule.metric); table != nullptr) {
    const std::string name =
        NameInProfile(std::string_view(rule.metric).substr(table->prefix.size()));
    const auto find = [&](const JobProfile& profile) -> const ProfileRow* {
      for (const ProfileRow& row : profile.*table->rows) {
        if (NameInProfile(row.name) == name) return &row;
      }
      return nullptr;
    };
    const ProfileRow* a = find(diff.a);
    const ProfileRow* b = find(diff.b);
    if (a == nullptr && b == nullptr) {
      std::vector<std::string_view> names;
      for (const JobProfile* profile : {&diff.a, &diff.b}) {
        for (const ProfileRow& row : profile->*table->rows) names.emplace_back(row.name);
      }
      std::sort(names.begin(), names.end());
      names.erase(std::unique(names.begin(), names.end()), names.end());
      std::vector<std::string_view> near = NearNames(name, names);
      // Printed tables omit parameters: "softmax<float>" for "void softmax<float, 4>(int)".
      if (near.empty()) near = NearNames(name.substr(0, name.find_first_of("<(")), names);
      const std::string why = "neither run has that row (--json lists the full names)";
      return WrongRule(rule.text, near.empty()
                                      ? why
                                      : fmt::format("{}; similar names: {}", why, JoinNames(near)));
    }
    const auto& changes = diff.*table->changes;
    const bool told = std::any_of(changes.begin(), changes.end(), [&](const RowChange& row) {
      return NameInProfile(row.name) == name;
    });
    if (!told) {
      result.verdict = GateVerdict::kMissing;
      result.why =
          "one of the runs does not list this row (a baseline lists only its largest rows)";
      return result;
    }
    const Estimate nothing = {.value = 0, .error = 0, .freedom = 1};
    const Estimate of_a = a != nullptr ? a->ms : nothing, of_b = b != nullptr ? b->ms : nothing;
    take(std::span(&of_a, 1), std::span(&of_b, 1));
    // If a library renames its kernels, an upper limit would otherwise pass forever.
    if (b == nullptr) {
      result.why =
          fmt::format("B has no such row; the rule '{}>=1us' fails without the row", rule.metric);
    } else if (a == nullptr) {
      result.why = "A has no such row";
    }
    return result;
  }
  const auto all_of = [&](const JobProfile& profile) {
    std::vector<Estimate> figures;
    for (const RunFigures& run : profile.runs) {
      const auto found = run.find(rule.metric);
      if (found == run.end()) return std::vector<Estimate>();
      figures.push_back(found->second);
    }
    return figures;
  };
  const std::vector<Estimate> a = all_of(diff.a), b = all_of(diff.b);
  if (b.empty() || (a.empty() && rule.kind != GateRule::Limit::kValue)) {
    result.verdict = GateVerdict::kMissing;
    result.why = fmt::format("not recorded in {}; the metric requires {}",
                             !b.empty()  ? "A"
                             : a.empty() ? "A and B"
                                         : "B",
                             DocOf(rule.metric)->needs);
    return result;
  }
  take(a, b);
  return result;
}

std::string Advice(const JobDiff& diff, const RuleResult& result) {
  if (!result.change.bounded)
    return "one step shows no spread; record more steps, or pass repeated runs";
  const double reach = result.change.high - result.change.delta;
  const double room = std::abs(result.threshold - result.change.delta);
  std::string text = "the limit is within the noise";
  if (!result.change.of_runs) {
    return text +
           "; repeat the runs of both (--also-a, --also-b), which helps more than longer runs";
  }
  const auto runs = static_cast<double>(diff.a.runs.size() + diff.b.runs.size());
  constexpr double kMaxRuns = 100;
  if (room > 0 && runs * std::pow(reach / room, 2) <= kMaxRuns) {
    text += fmt::format("; about {:.0f} runs in total would decide",
                        std::ceil(runs * std::pow(reach / room, 2)));
  }
  return text;
}

void JudgeRule(const JobDiff& diff, RuleResult& result) {
  const GateRule& rule = result.rule;
  const Difference& change = result.change;
  const double sign = rule.at_most ? 1 : -1;
  result.threshold = rule.limit;
  if (rule.kind == GateRule::Limit::kPercent) {
    result.threshold = rule.limit / 100 * change.a;
    if (UnitOf(rule.metric) == "ms") {
      const double forgiven = kForgiven * diff.step.a;
      if (sign * result.threshold >= 0)
        result.threshold = sign * std::max(sign * result.threshold, forgiven);
    }
  }
  if (!change.bounded) {
    result.why = Advice(diff, result);
    return;
  }
  // The rounding error of a sum of many rounded figures is smaller than this.
  const double rounding = 1e-9 * std::max({1.0, std::abs(change.a), std::abs(change.b)});
  const double least = rule.at_most ? change.low : -change.high;
  const double most = rule.at_most ? change.high : -change.low;
  const double threshold = sign * result.threshold;
  if (most <= threshold + rounding) {
    result.verdict = GateVerdict::kPass;
  } else if (least > threshold + rounding) {
    result.verdict = GateVerdict::kFail;
    result.why = "beyond the limit and the noise";
  } else {
    result.why = Advice(diff, result);
  }
}

}  // namespace

std::vector<std::string_view> GateMetrics() {
  std::vector<std::string_view> names;
  names.reserve(kMetrics.size());
  for (const MetricDoc& doc : kMetrics) names.push_back(doc.name);
  return names;
}

std::string_view GateUnit(std::string_view metric) {
  return UnitOf(metric).value_or(std::string_view());
}

std::string_view NameOf(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kPass:
      return "pass";
    case GateVerdict::kFail:
      return "fail";
    case GateVerdict::kInconclusive:
      return "inconclusive";
    case GateVerdict::kMissing:
      return "missing";
    case GateVerdict::kNotComparable:
      return "not comparable";
  }
  return "";
}

Result<GateRule> ParseGateRule(std::string_view text) {
  // Searches from the end, because a kernel's name may contain either operator.
  const std::size_t at = std::max(text.rfind("<=") + 1, text.rfind(">=") + 1);
  if (at == 0) return WrongRule(text, "it has neither <= nor >=, and no file has this name");
  GateRule rule{.text = std::string(text),
                .metric = std::string(TrimBlanks(text.substr(0, at - 1))),
                .at_most = text[at - 1] == '<'};
  const std::optional<std::string_view> unit = UnitOf(rule.metric);
  if (!unit) {
    std::vector<std::string_view> names = GateMetrics();
    const std::vector<std::string_view> near = NearNames(rule.metric, names);
    return WrongRule(text, fmt::format("unknown metric '{}'; {} {}", rule.metric,
                                       near.empty() ? "metrics are" : "did you mean",
                                       JoinNames(near.empty() ? names : near)));
  }
  std::string_view limit = TrimBlanks(text.substr(at + 1));
  const bool signed_limit = limit.starts_with('+') || limit.starts_with('-');
  const bool negative = limit.starts_with('-');
  if (signed_limit) limit.remove_prefix(1);
  // from_chars() would accept a second sign.
  if (signed_limit && (limit.starts_with('+') || limit.starts_with('-')))
    return WrongRule(text, "the limit has two signs");
  const auto [end, error] = std::from_chars(limit.data(), limit.data() + limit.size(), rule.limit);
  if (error != std::errc() || !std::isfinite(rule.limit))
    return WrongRule(text, "the limit is not a number");
  if (negative) rule.limit = -rule.limit;
  const std::string_view written =
      TrimBlanks(limit.substr(static_cast<std::size_t>(end - limit.data())));
  if (written == "%") {
    if (!signed_limit)
      return WrongRule(
          text, "a limit in percent requires a sign, because it limits a change: +3% or -3%");
    return rule;
  }
  rule.kind = signed_limit ? GateRule::Limit::kChange : GateRule::Limit::kValue;
  const std::optional<double> factor = UnitFactor(written, *unit);
  if (!factor)
    return WrongRule(
        text, fmt::format("{} does not have the unit {}", rule.metric, std::string(written)));
  rule.limit *= *factor;
  if (!std::isfinite(rule.limit)) return WrongRule(text, "the limit is too large");
  return rule;
}

Result<std::vector<GateRule>> ReadGateRules(const NamedText& file) {
  const Result<toml::table> root = ParseToml(file);
  if (!root.ok()) return Status::Usage(root.status().message());
  std::vector<GateRule> rules;
  const Status read = ForEachRow(file, root.value(), "rule", [&](TomlRow& row) {
    const std::string metric = row.Text("metric");
    const std::string limit = row.Text("limit");
    row.Known({"metric", "limit"});
    if (!row.status().ok()) return row.status();
    Result<GateRule> rule = ParseGateRule(metric + limit);
    if (!rule.ok()) return rule.status();
    rules.push_back(std::move(rule).value());
    return Status::Ok();
  });
  if (!read.ok()) return Status::Usage(read.message());
  for (const auto& [key, value] : root.value()) {
    if (key.str() != "rule")
      return Status::Usage(
          fmt::format("{}: unknown key '{}'; write rules as [[rule]] tables with metric and limit",
                      file.name, std::string(key.str())));
  }
  if (rules.empty()) {
    return Status::Usage(fmt::format("{}: no [[rule]] table; add at least one", file.name));
  }
  return rules;
}

Result<GateResult> JudgeGate(const JobDiff& diff, const std::vector<GateRule>& rules) {
  GateResult gate;
  for (const GateRule& rule : rules) {
    Result<RuleResult> result = Measure(diff, rule);
    if (!result.ok()) return result.status();
    if (result.value().measured) JudgeRule(diff, result.value());
    gate.rules.push_back(std::move(result).value());
  }
  const auto any = [&](GateVerdict verdict) {
    return std::any_of(gate.rules.begin(), gate.rules.end(),
                       [&](const RuleResult& row) { return row.verdict == verdict; });
  };
  gate.verdict = !diff.comparable                  ? GateVerdict::kNotComparable
                 : any(GateVerdict::kFail)         ? GateVerdict::kFail
                 : any(GateVerdict::kMissing)      ? GateVerdict::kMissing
                 : any(GateVerdict::kInconclusive) ? GateVerdict::kInconclusive
                                                   : GateVerdict::kPass;
  return gate;
}

}  // namespace headroom
