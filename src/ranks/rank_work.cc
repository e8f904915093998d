#include "ranks/rank_work.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headroom {
namespace {

/// A step of one rank.
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

/// Returns the mean over steps of largest / mean - 1.
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

/// Deviation of a rank's work and computing time from the step's mean, as shares of that mean.
struct Deviation {
  double work, computing;
};

/// Returns Pearson's r, squared; 0 if the correlation is negative. Returns nullopt if work or time
/// does not vary, or if there are too few values.
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
  explicit WorkComparer(std::span<const RankTimeline> ranks) : ranks_(ranks) {}

  JobWork Compare() {
    CollectSteps();
    if (steps_.empty()) return std::move(work_);
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
    work_.longest_excess = DurationNs(std::llround(ExcessOfLongest()));
    return std::move(work_);
  }

 private:
  /// Collects the steps that several ranks have, by number.
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

  /// Returns the excess of the longest computing time of a step over its mean, in ns, averaged over
  /// the steps.
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

  std::span<const RankTimeline> ranks_;
  std::vector<std::vector<Part>> steps_;
  JobWork work_;
};

}  // namespace

JobWork CompareWork(std::span<const RankTimeline> ranks) { return WorkComparer(ranks).Compare(); }

}  // namespace headroom
