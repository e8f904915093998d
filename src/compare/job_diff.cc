#include "compare/job_diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace headroom {
namespace {

/// Share of the step. A smaller change does not justify a headline.
constexpr double kMinChange = 0.005;

bool PacedByGpu(const JobProfile& profile) {
  return profile.verdict == "gpu-compute" || profile.verdict == "gpu-memory" ||
         profile.verdict == "communication";
}

std::vector<Estimate> FiguresOf(const JobProfile& profile, std::string_view metric) {
  std::vector<Estimate> figures;
  for (const RunFigures& run : profile.runs) {
    const auto found = run.find(metric);
    if (found == run.end()) return {};
    figures.push_back(found->second);
  }
  return figures;
}

bool HasGpu(const JobProfile& profile) { return !FiguresOf(profile, "gpu_tasks").empty(); }

/// Returns true if a row that `profile` does not list may be part of its rest.
bool MayBeInRest(const ProfileRow& row, const std::vector<ProfileRow>& listed,
                 const JobProfile::Rest& rest) {
  return rest.rows > 0 && !listed.empty() && row.ms.value <= listed.back().ms.value;
}

std::vector<RowChange> CompareRows(const std::vector<ProfileRow>& in_a,
                                   const JobProfile::Rest& rest_a,
                                   const std::vector<ProfileRow>& in_b,
                                   const JobProfile::Rest& rest_b) {
  std::map<std::string, std::pair<const ProfileRow*, const ProfileRow*>> rows;
  for (const ProfileRow& row : in_a) rows[NameInProfile(row.name)].first = &row;
  for (const ProfileRow& row : in_b) rows[NameInProfile(row.name)].second = &row;
  const Estimate nothing = {.value = 0, .error = 0, .freedom = 1};
  std::vector<RowChange> changes;
  for (const auto& [key, pair] : rows) {
    const auto [a, b] = pair;
    if (a == nullptr && MayBeInRest(*b, in_a, rest_a)) continue;
    if (b == nullptr && MayBeInRest(*a, in_b, rest_b)) continue;
    // Uses the longer name, because a baseline may have truncated it.
    const ProfileRow* named =
        a == nullptr || (b != nullptr && b->name.size() > a->name.size()) ? b : a;
    RowChange change{.name = named->name, .inside = (a != nullptr ? a : b)->inside};
    change.state = a == nullptr   ? RowChange::State::kNew
                   : b == nullptr ? RowChange::State::kGone
                                  : RowChange::State::kChanged;
    const Estimate ms_a = a != nullptr ? a->ms : nothing, ms_b = b != nullptr ? b->ms : nothing;
    change.ms = ChangeOf(std::span(&ms_a, 1), std::span(&ms_b, 1), kGpuRunToRun);
    change.calls_a = a != nullptr ? a->calls : 0;
    change.calls_b = b != nullptr ? b->calls : 0;
    if (change.calls_a > 0 && change.calls_b > 0) {
      // Each part uses the mean of the other factor, so that the two parts sum to the whole change.
      const double time_a = change.ms.a / change.calls_a, time_b = change.ms.b / change.calls_b;
      change.by_count_ms = (change.calls_b - change.calls_a) * (time_a + time_b) / 2;
      change.by_time_ms = (time_b - time_a) * (change.calls_a + change.calls_b) / 2;
    } else {
      change.by_count_ms = change.ms.delta;
    }
    changes.push_back(std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(), [](const RowChange& x, const RowChange& y) {
    return std::abs(x.ms.delta) > std::abs(y.ms.delta);
  });
  return changes;
}

std::vector<KernelSwap> FindSwaps(const std::vector<RowChange>& kernels) {
  std::map<std::string_view, KernelSwap> by_operator;
  for (const RowChange& kernel : kernels) {
    if (kernel.inside.empty() || kernel.state == RowChange::State::kChanged) continue;
    KernelSwap& swap = by_operator[kernel.inside];
    if (kernel.state == RowChange::State::kGone) {
      swap.gone.push_back(kernel.name);
      swap.gone_ms += kernel.ms.a;
    } else {
      swap.fresh.push_back(kernel.name);
      swap.fresh_ms += kernel.ms.b;
    }
  }
  std::vector<KernelSwap> swaps;
  for (auto& [name, swap] : by_operator) {
    if (swap.gone.empty() || swap.fresh.empty()) continue;
    swap.operator_name = name;
    swaps.push_back(std::move(swap));
  }
  std::stable_sort(swaps.begin(), swaps.end(), [](const KernelSwap& x, const KernelSwap& y) {
    return std::abs(x.fresh_ms - x.gone_ms) > std::abs(y.fresh_ms - y.gone_ms);
  });
  return swaps;
}

std::vector<RankChange> CompareRanks(const JobProfile& a, const JobProfile& b) {
  std::map<std::int64_t, RankChange> by_rank;
  for (const RankFigures& rank : a.ranks) by_rank[rank.rank].a = rank;
  for (const RankFigures& rank : b.ranks) by_rank[rank.rank].b = rank;
  std::vector<RankChange> changes;
  for (auto& [rank, change] : by_rank) {
    change.rank = rank;
    changes.push_back(change);
  }
  return changes;
}

/// Splits the compute part by operator; the other operators form one row.
std::vector<AccountRow> ComputeByOperator(const JobProfile& a, const JobProfile& b) {
  constexpr std::size_t kMax = 6;
  constexpr double kMin = 0.002;  // Share of the step.
  struct InBoth {
    AccountRow row = {};
    bool in_a = false, in_b = false;
  };
  std::map<std::string, InBoth> by_name;
  for (const ProfileRow& row : a.operators) {
    InBoth& both = by_name[NameInProfile(row.name)];
    both.row.a_ms = row.exposed_ms;
    both.in_a = true;
  }
  for (const ProfileRow& row : b.operators) {
    InBoth& both = by_name[NameInProfile(row.name)];
    both.row.b_ms = row.exposed_ms;
    both.in_b = true;
  }
  std::vector<AccountRow> rows;
  for (auto& [name, both] : by_name) {
    // In a baseline, unlisted operators are part of its rest, so their time is not 0.
    if ((a.other_operators.rows > 0 && !both.in_a) || (b.other_operators.rows > 0 && !both.in_b))
      continue;
    AccountRow& row = both.row;
    row.name = name;
    row.of_operator = true;
    if (std::abs(row.change_ms()) >= kMin * a.median_ms) rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const AccountRow& x, const AccountRow& y) {
    return std::abs(x.change_ms()) > std::abs(y.change_ms());
  });
  if (rows.size() > kMax) rows.resize(kMax);
  AccountRow rest{.name = "other_operators",
                  .of_operator = false,
                  .a_ms = a.PartMs(StepPart::kCompute),
                  .b_ms = b.PartMs(StepPart::kCompute)};
  for (const AccountRow& row : rows) {
    rest.a_ms -= row.a_ms;
    rest.b_ms -= row.b_ms;
  }
  rows.push_back(std::move(rest));
  return rows;
}

std::vector<AccountRow> MakeAccount(const JobProfile& a, const JobProfile& b) {
  std::vector<AccountRow> rows;
  if (HasGpu(a) || HasGpu(b)) {
    rows = ComputeByOperator(a, b);
    for (std::size_t part = 1; part < kStepPartNames.size(); ++part) {
      if (a.parts_ms[part] == 0 && b.parts_ms[part] == 0) continue;
      rows.push_back({.name = std::string(kStepPartNames[part]),
                      .of_operator = false,
                      .a_ms = a.parts_ms[part],
                      .b_ms = b.parts_ms[part]});
    }
  } else {
    for (std::size_t phase = 0; phase < kPhaseNames.size(); ++phase) {
      if (a.phases_ms[phase] == 0 && b.phases_ms[phase] == 0) continue;
      rows.push_back({.name = "phase." + std::string(kPhaseNames[phase]),
                      .of_operator = false,
                      .a_ms = a.phases_ms[phase],
                      .b_ms = b.phases_ms[phase]});
    }
  }
  const auto unexplained = [](const AccountRow& row) { return row.name == "unexplained"; };
  std::stable_sort(rows.begin(), rows.end(), [&](const AccountRow& x, const AccountRow& y) {
    if (unexplained(x) != unexplained(y)) return unexplained(y);
    return std::abs(x.change_ms()) > std::abs(y.change_ms());
  });
  // The parts are means, because medians do not add up.
  rows.push_back({.name = "median_less_mean",
                  .of_operator = false,
                  .a_ms = a.median_ms - a.mean_ms(),
                  .b_ms = b.median_ms - b.mean_ms()});
  return rows;
}

}  // namespace

bool JobDiff::step_changed() const {
  const Difference& best = corrected ? *corrected : step;
  return !best.is_noise() && std::abs(best.delta) >= kMinChange * best.a;
}

double RunToRun(const JobProfile& a, const JobProfile& b, std::string_view metric) {
  // Counts of a program's work are exact; only times vary.
  if (metric == "gpu_tasks" || metric == "operators" || metric == "memory_peak_mb") return 0;
  const bool of_gpu = metric == "gpu_work_ms" || metric == "gpu_busy_ms" ||
                      metric == "compute_ms" || metric == "busiest_rank_compute_ms" ||
                      metric.starts_with("kernel:") || metric.starts_with("operator:") ||
                      metric.starts_with("layer:");
  return of_gpu || (PacedByGpu(a) && PacedByGpu(b)) ? kGpuRunToRun : kHostRunToRun;
}

std::optional<Difference> FigureChangeOf(const JobProfile& a, const JobProfile& b,
                                         std::string_view metric) {
  const std::vector<Estimate> of_a = FiguresOf(a, metric), of_b = FiguresOf(b, metric);
  if (of_a.empty() || of_b.empty()) return std::nullopt;
  return ChangeOf(of_a, of_b, RunToRun(a, b, metric));
}

JobDiff Compare(JobProfile a, JobProfile b, std::span<const std::string> accepted) {
  JobDiff diff;
  diff.facts = CompareFacts(a, b, accepted);
  diff.comparable = AreComparable(diff.facts);
  diff.step = *FigureChangeOf(a, b, "step_ms");
  diff.corrected = FigureChangeOf(a, b, "corrected_step_ms");
  for (const auto& [name, estimate] : a.runs.front()) {
    if (const std::optional<Difference> change = FigureChangeOf(a, b, name))
      diff.figures.push_back({name, *change});
  }
  diff.account = MakeAccount(a, b);
  diff.kernels = CompareRows(a.kernels, a.other_kernels, b.kernels, b.other_kernels);
  diff.operators = CompareRows(a.operators, a.other_operators, b.operators, b.other_operators);
  // If one profile has no layers, all layers of the other would look new.
  if (!a.layers.empty() && !b.layers.empty())
    diff.layers = CompareRows(a.layers, a.other_layers, b.layers, b.other_layers);
  diff.swaps = FindSwaps(diff.kernels);
  diff.ranks = CompareRanks(a, b);
  diff.a = std::move(a);
  diff.b = std::move(b);
  return diff;
}

}  // namespace headroom
