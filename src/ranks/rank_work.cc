#include "ranks/rank_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "base/statistics.h"

namespace headroom {
namespace {

constexpr double kHalf = 0.5;
/// What is told apart in words.
constexpr double kAlike = 0.01;

/// A step as one rank had it.
struct Part {
  std::size_t rank;
  const RankStep* step;
};

WorkMeasure MeasureOf(const std::vector<std::vector<Part>>& steps) {
  const auto all = [&](auto has) {
    return std::all_of(steps.begin(), steps.end(), [&](const std::vector<Part>& parts) {
      return std::all_of(parts.begin(), parts.end(), has);
    });
  };
  if (steps.empty()) return WorkMeasure::kNone;
  if (all([](const Part& part) { return part.step->flops.value_or(0) > 0; }))
    return WorkMeasure::kFlops;
  if (all([](const Part& part) { return part.step->input_bytes > 0; }))
    return WorkMeasure::kInputBytes;
  return WorkMeasure::kNone;
}

double WorkOf(const RankStep& step, WorkMeasure measure) {
  return measure == WorkMeasure::kFlops ? step.flops.value_or(0) : step.input_bytes;
}

std::string_view InWords(WorkMeasure measure) {
  return measure == WorkMeasure::kFlops ? "FLOPs, by shapes" : "bytes of input";
}

/// Mean over steps of largest / mean - 1.
template <typename ValueOf>
double ImbalanceOf(const std::vector<std::vector<Part>>& steps, ValueOf value_of) {
  double sum = 0;
  for (const std::vector<Part>& parts : steps) {
    double largest = 0, all = 0;
    for (const Part& part : parts) {
      const double value = value_of(*part.step);
      largest = std::max(largest, value);
      all += value;
    }
    if (all > 0) sum += largest * static_cast<double>(parts.size()) / all - 1;
  }
  return sum / static_cast<double>(steps.size());
}

/// Work and computing of a rank in a step, each by how far it is from its mean of that step, as a
/// share of that mean.
struct Deviation {
  double work, computing;
};

/// Pearson's r, squared; 0 where they go against each other; none where either does not vary, or of
/// too few.
std::optional<double> SharedVariance(const std::vector<Deviation>& deviations) {
  constexpr std::size_t kMin = 6;
  constexpr double kVaries = 1e-3;
  if (deviations.size() < kMin) return std::nullopt;
  const auto n = static_cast<double>(deviations.size());
  double xx = 0, yy = 0, xy = 0;
  for (const Deviation& deviation : deviations) {
    xx += deviation.work * deviation.work;
    yy += deviation.computing * deviation.computing;
    xy += deviation.work * deviation.computing;
  }
  if (xx / n <= kVaries * kVaries || yy / n <= kVaries * kVaries) return std::nullopt;
  return xy > 0 ? xy * xy / (xx * yy) : 0;
}

class WorkComparer {
 public:
  WorkComparer(std::span<const RankTimeline> ranks, const JobWaits& waits)
      : ranks_(ranks), waits_(waits) {}

  JobWork Compare() {
    CollectSteps();
    if (steps_.empty()) {
      if (waits_.pattern != StragglerPattern::kNone) work_.cause = LateCause::kUnknown;
      return std::move(work_);
    }
    work_.steps = static_cast<std::int64_t>(steps_.size());
    work_.measure = MeasureOf(steps_);
    const bool measured = work_.measure != WorkMeasure::kNone;
    work_.computing_imbalance = ImbalanceOf(
        steps_, [](const RankStep& step) { return static_cast<double>(step.computing.ns()); });
    if (measured) {
      work_.work_imbalance =
          ImbalanceOf(steps_, [&](const RankStep& step) { return WorkOf(step, work_.measure); });
      work_.explained = SharedVariance(Deviations());
    }
    AverageByRank(measured);
    FindCause();
    return std::move(work_);
  }

 private:
  /// By number; those that several ranks have.
  void CollectSteps() {
    std::map<std::int64_t, std::vector<Part>> by_number;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      for (const RankStep& step : ranks_[r].steps) {
        if (step.computing > DurationNs(0)) by_number[step.number].push_back({r, &step});
      }
    }
    for (auto& [number, parts] : by_number) {
      if (parts.size() > 1) steps_.push_back(std::move(parts));
    }
  }

  std::vector<Deviation> Deviations() const {
    std::vector<Deviation> deviations;
    for (const std::vector<Part>& parts : steps_) {
      double work = 0, computing = 0;
      for (const Part& part : parts) {
        work += WorkOf(*part.step, work_.measure) / static_cast<double>(parts.size());
        computing +=
            static_cast<double>(part.step->computing.ns()) / static_cast<double>(parts.size());
      }
      for (const Part& part : parts) {
        deviations.push_back(
            {.work = WorkOf(*part.step, work_.measure) / work - 1,
             .computing = static_cast<double>(part.step->computing.ns()) / computing - 1});
      }
    }
    return deviations;
  }

  /// By how much the longest computing of a step exceeds its mean; ns.
  double ExcessOfLongest() const {
    double excess = 0;
    for (const std::vector<Part>& parts : steps_) {
      double longest = 0, mean = 0;
      for (const Part& part : parts) {
        const auto time = static_cast<double>(part.step->computing.ns());
        longest = std::max(longest, time);
        mean += time / static_cast<double>(parts.size());
      }
      excess += longest - mean;
    }
    return excess / static_cast<double>(steps_.size());
  }

  double PerStep(DurationNs all) const {
    return static_cast<double>(all.ns()) /
           static_cast<double>(std::max<std::int64_t>(1, waits_.steps));
  }

  void AverageByRank(bool measured) {
    std::vector<double> computing(ranks_.size()), work(ranks_.size()), count(ranks_.size());
    for (const std::vector<Part>& parts : steps_) {
      for (const Part& part : parts) {
        computing[part.rank] += static_cast<double>(part.step->computing.ns());
        work[part.rank] += WorkOf(*part.step, work_.measure);
        ++count[part.rank];
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      RankWork row;
      if (count[r] > 0) {
        row.computing = DurationNs(static_cast<std::int64_t>(computing[r] / count[r]));
        if (measured) row.work = work[r] / count[r];
      }
      work_.ranks.push_back(row);
    }
  }

  void FindCause() {
    if (waits_.pattern == StragglerPattern::kNone) return;
    work_.cause = LateCause::kUnknown;
    if (waits_.pattern == StragglerPattern::kRotating) return ExplainRotating();
    ExplainStragglers();
  }

  /// Each by itself; the one that holds the others up most stands for all, where they differ.
  void ExplainStragglers() {
    constexpr std::size_t kMaxSaid = 3;
    std::vector<std::size_t> late = waits_.stragglers;
    std::stable_sort(late.begin(), late.end(), [&](std::size_t a, std::size_t b) {
      return waits_.ranks[a].caused > waits_.ranks[b].caused;
    });
    for (std::size_t i = 0; i < std::min(kMaxSaid, late.size()); ++i) {
      const Reason reason = ExplainStraggler(late[i]);
      if (i == 0) work_.cause = reason.cause;
      if (!reason.why.empty()) work_.why += (work_.why.empty() ? "" : " ") + reason.why;
    }
  }

  void ExplainRotating() {
    if (ExcessOfLongest() < kHalf * PerStep(waits_.lost)) {
      work_.why = "Ranks hardly differ in how long they compute: they start late in turn.";
      work_.cause = LateCause::kLateStart;
    } else if (work_.measure == WorkMeasure::kNone) {
      work_.why = "What each step had to do was not recorded (record_shapes=True).";
    } else if (!work_.explained) {
      work_.why =
          "Ranks differ in how long they compute; their work does not differ, or too few steps "
          "tell.";
    } else {
      work_.why = fmt::format(
          "Among the ranks of a step, the work ({}) explains {:.0f} % of how computing varies.",
          InWords(work_.measure), 100 * *work_.explained);
      if (*work_.explained >= kHalf) work_.cause = LateCause::kMoreWork;
    }
  }

  /// The median of the ranks that are not late.
  template <typename ValueOf>
  double Usual(ValueOf value_of) const {
    std::vector<double> values;
    for (std::size_t r = 0; r < work_.ranks.size(); ++r) {
      const bool late = std::find(waits_.stragglers.begin(), waits_.stragglers.end(), r) !=
                        waits_.stragglers.end();
      if (!late && work_.ranks[r].computing) values.push_back(value_of(work_.ranks[r]));
    }
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return SortedPercentile(values, 50);
  }

  std::int64_t NumberOf(std::size_t rank) const { return ranks_[rank].rank.value_or(0); }

  struct Reason {
    LateCause cause = LateCause::kUnknown;
    std::string why = {};
  };

  Reason ExplainStraggler(std::size_t rank) const {
    const auto computing = [](const RankWork& row) {
      return static_cast<double>(row.computing->ns());
    };
    const RankWork& late = work_.ranks[rank];
    const double usual = Usual(computing);
    if (usual <= 0 || !late.computing) return {};
    const double longer = computing(late) / usual - 1;
    if (computing(late) - usual < kHalf * PerStep(waits_.ranks[rank].caused)) {
      return {LateCause::kLateStart,
              fmt::format("Rank {} computes {} a usual one, which does not explain its lateness: "
                          "it starts late, by its host, its loader or its link.",
                          NumberOf(rank),
                          longer > kAlike    ? fmt::format("{:.3g} times as long as", 1 + longer)
                          : longer < -kAlike ? "less than"
                                             : "as long as")};
    }
    const std::string times =
        fmt::format("Rank {} computes {:.3g} times as long", NumberOf(rank), 1 + longer);
    if (!late.work) {
      return {.why = times +
                     " as a usual one; what it had to do was not recorded (record_shapes=True), so "
                     "whether that is its samples or its GPU cannot be told."};
    }
    const double more = *late.work / Usual([](const RankWork& row) { return *row.work; }) - 1;
    const bool has_more = more >= kHalf * longer;
    const std::string compared = fmt::format(
        "{} as a usual one, with {} ({})", times,
        std::abs(more) < kAlike ? "the same work" : fmt::format("{:.3g} times the work", 1 + more),
        InWords(work_.measure));
    if (has_more) return {LateCause::kMoreWork, compared + ": it has more to compute."};
    if (work_.measure == WorkMeasure::kFlops)
      return {LateCause::kSlowGpu, compared + ": it is its GPU."};
    return {.why = compared +
                   ": as much input can be more to compute, so whether that or its GPU is the "
                   "reason cannot be told without shapes (record_shapes=True)."};
  }

  std::span<const RankTimeline> ranks_;
  const JobWaits& waits_;
  std::vector<std::vector<Part>> steps_;
  JobWork work_;
};

}  // namespace

JobWork CompareWork(std::span<const RankTimeline> ranks, const JobWaits& waits) {
  return WorkComparer(ranks, waits).Compare();
}

}  // namespace headroom
