// What each rank had to compute, and how long it took.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ranks/rank_timeline.h"

namespace headroom {

/// What tells how much a step has to do.
enum class WorkMeasure : std::uint8_t {
  kNone,
  kFlops,       ///< By the shapes of its operators.
  kInputBytes,  ///< By what was copied to the GPU.
};

/// Of one rank: means over the steps that are compared.
struct RankWork {
  std::optional<DurationNs> computing;  ///< None: of no step that is compared.
  std::optional<double> work;           ///< In the job's measure.
};

struct JobWork {
  WorkMeasure measure = WorkMeasure::kNone;
  std::vector<RankWork> ranks;  ///< By rank's index; empty: no step is of several ranks.
  std::int64_t steps = 0;       ///< That several ranks have.
  /// By how much the rank that computes longest is above the mean, a step.
  double computing_imbalance = 0;
  std::optional<double> work_imbalance;  ///< The same of the work.
  /// By how much the longest computing of a step exceeds its mean; mean of the steps.
  DurationNs longest_excess;
  /// Share of the variance of computing times among the ranks of a step, over all steps, that goes
  /// with more work (Pearson's r, squared; less work for longer computing explains nothing). None:
  /// work is not known, or ranks do not differ in either.
  std::optional<double> explained;
};

/// Compares the steps that several ranks have.
JobWork CompareWork(std::span<const RankTimeline> ranks);

}  // namespace headroom
