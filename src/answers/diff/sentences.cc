#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "answers/diff/render.h"
#include "render/number_format.h"
#include "render/row_id.h"

namespace headroom {
namespace {

DurationNs FromMs(double ms) { return DurationNs(std::llround(ms * 1e6)); }

/// Labels of the account's rows that are not operators.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kLabels = {{
    {"other_operators", "all other GPU work"},
    {"exposed_communication", "exposed communication"},
    {"copies_to_gpu", "exposed copies to the GPU"},
    {"other_copies", "other exposed copies and sets"},
    {"data_wait", "GPU idle: data wait"},
    {"callback", "GPU idle: callbacks"},
    {"host_wait", "GPU idle: waits for the host"},
    {"queue_wait", "GPU idle: gaps between queued tasks"},
    {"unexplained", "GPU idle: unexplained"},
    {"median_less_mean", "uneven steps: median minus mean"},
}};

std::string Percent(double percent) {
  const double magnitude = std::abs(percent);
  return fmt::format("{:+.{}f} %", percent, magnitude < 0.1 ? 2 : magnitude < 999.5 ? 1 : 0);
}

}  // namespace

std::string MsText(double ms) { return FormatMs(FromMs(ms)); }

std::string ChangeMsText(double ms) {
  const DurationNs duration = FromMs(ms);
  if (duration.ns() == 0) return "0 ms";
  return (ms < 0 ? "-" : "+") + FormatMs(ms < 0 ? -duration : duration);
}

std::string ChangePctText(double a, double b) {
  if (a == 0) return "";
  return Percent(100 * (b - a) / a);
}

std::string StepSentence(const JobDiff& diff) {
  const Difference& step = diff.step;
  std::string text =
      fmt::format("{} -> {}, {}", MsText(step.a), MsText(step.b), ChangeMsText(step.delta));
  if (step.a > 0) text += fmt::format(" ({})", ChangePctText(step.a, step.b));
  if (step.bounded) {
    text +=
        fmt::format("; 95 % interval {} to {}", ChangeMsText(step.low), ChangeMsText(step.high));
  }
  return text;
}

std::string NoiseSentence(const JobDiff& diff) {
  const Difference& step = diff.step;
  if (!step.bounded)
    return "One step has no spread, so any change may be noise: record more steps.";
  const std::string on =
      step.of_runs ? fmt::format("the spread over {} runs", diff.a.runs.size() + diff.b.runs.size())
                   : fmt::format(
                         "the spread over steps, and an assumed {:.1f} % from run to run, because "
                         "each side has one run",
                         100 * RunToRun(diff.a, diff.b, "step_ms"));
  if (diff.corrected && !step.is_noise() && !diff.corrected->is_noise() &&
      (step.delta > 0) != (diff.corrected->delta > 0)) {
    return fmt::format(
        "Recording hides the change: it slows one side more. Without it, the change has the "
        "opposite sign. Use the corrected steps (noise: {}).",
        on);
  }
  if (diff.step_changed()) return fmt::format("The change is beyond noise ({}).", on);
  return fmt::format("No change beyond noise ({}).", on);
}

std::string AccountLabel(const AccountRow& row) {
  if (row.of_operator) return row.name;
  for (const auto& [name, label] : kLabels) {
    if (name == row.name) return std::string(label);
  }
  // Prefix of the rows for phases, in a job without GPU work.
  constexpr std::string_view kPhase = "phase.";
  std::string label = row.name.starts_with(kPhase) ? row.name.substr(kPhase.size()) : row.name;
  std::replace(label.begin(), label.end(), '_', ' ');
  return label;
}

std::string ExplanationSentence(const JobDiff& diff) {
  if (!diff.step_changed() || diff.step.delta == 0) return "";
  constexpr std::size_t kMax = 3;
  constexpr double kWorthNaming = 0.1;
  std::vector<std::string> with, against;
  for (const AccountRow& row : diff.account) {
    const double share = row.change_ms() / diff.step.delta;
    std::vector<std::string>& parts = share > 0 ? with : against;
    if (std::abs(share) < kWorthNaming || parts.size() == kMax) continue;
    parts.push_back(fmt::format("{} {}", AccountLabel(row), ChangeMsText(row.change_ms())));
  }
  if (with.empty()) return "no single part of the step makes up a tenth of the change";
  std::string text = fmt::format("{}", fmt::join(with, "; "));
  if (!against.empty()) text += fmt::format("; partly offset by {}", fmt::join(against, "; "));
  return text;
}

std::string SideText(const JobProfile& side) {
  std::string text = side.baseline.empty() ? "" : fmt::format("baseline {}, of ", side.baseline);
  text += side.paths.empty() ? "no file" : side.paths.front();
  const auto more = static_cast<std::int64_t>(side.paths.size()) - 1;
  if (more > 0 && side.ranks.empty()) text += fmt::format(" and {}", Plural(more, "repeat"));
  if (!side.ranks.empty()) {
    if (more > 0) text += fmt::format(" and {}", Plural(more, "other file"));
    text +=
        fmt::format(" ({} of ranks {})", Plural(static_cast<std::int64_t>(side.runs.size()), "run"),
                    FactOf(side, "ranks"));
  }
  return text + fmt::format(": {}, health {}", Plural(side.steps, "step"), side.grade);
}

std::vector<std::string> RankSentences(const JobDiff& diff) {
  std::vector<std::string> sentences;
  const auto both = [&](const auto& text_of, std::string_view format) {
    const std::string a = text_of(diff.a), b = text_of(diff.b);
    if (!a.empty() || !b.empty()) {
      sentences.push_back(
          fmt::format(fmt::runtime(format), a.empty() ? "unknown" : a, b.empty() ? "unknown" : b));
    }
  };
  both(
      [](const JobProfile& side) -> std::string {
        const std::optional<Imbalance> imbalance = ImbalanceOf(side);
        if (!imbalance) return "";
        constexpr double kMin = 0.001;  // Differences below a microsecond do not count.
        if (imbalance->ms < kMin) return "no rank is busier";
        return fmt::format("{} (rank {})", MsText(imbalance->ms), imbalance->busiest);
      },
      "The busiest rank computes longer than the mean, per step: A {}; B {}.");
  both(
      [](const JobProfile& side) -> std::string {
        if (!side.waiting) return "";
        const std::string late =
            side.waiting->late.empty() ? "" : fmt::format(" ({})", side.waiting->late);
        return MsText(side.waiting->lost_ms) + late;
      },
      "Late ranks cost the median rank, per step: A {}; B {}.");
  return sentences;
}

std::vector<RankChange> RanksByChange(const JobDiff& diff) {
  std::vector<RankChange> ranks = diff.ranks;
  const auto change = [](const RankChange& rank) {
    return rank.a && rank.b ? std::abs(rank.b->compute_ms - rank.a->compute_ms) : 0;
  };
  std::stable_sort(ranks.begin(), ranks.end(),
                   [&](const RankChange& x, const RankChange& y) { return change(x) > change(y); });
  return ranks;
}

std::string IdOfRow(std::string_view kind, const RowChange& row) {
  return IsCutName(row.name) ? "" : RowId(kind, row.name);
}

std::string RuleText(const RuleResult& result) {
  if (!result.measured) return result.why;
  const Difference& change = result.change;
  const bool percent = result.rule.kind == GateRule::Limit::kPercent && change.a != 0;
  const bool is_value = result.rule.kind == GateRule::Limit::kValue;
  const std::string_view unit = GateUnit(result.rule.metric);
  const auto text = [&](double value) {
    if (percent) return fmt::format("{:+.2f} %", 100 * value / change.a);
    return fmt::format("{}{}{}",
                       is_value ? fmt::format("{:.4g}", value) : fmt::format("{:+.4g}", value),
                       unit.empty() ? "" : " ", unit);
  };
  return change.bounded
             ? fmt::format("{} ({} to {})", text(change.delta), text(change.low), text(change.high))
             : text(change.delta);
}

std::string NotComparableText(const JobDiff& diff) {
  std::vector<std::string> differ;
  for (const ComparedFact& fact : diff.facts) {
    if (fact.state == FactState::kDifferent && fact.blocks && !fact.accepted)
      differ.push_back(fact.name);
  }
  if (differ.empty()) return "";
  return fmt::format("not the same: {}; if you test that change, add --accept {}",
                     fmt::join(differ, ", "), fmt::join(differ, ","));
}

}  // namespace headroom
