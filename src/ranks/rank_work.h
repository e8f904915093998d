// Work and computing time of each rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ranks/rank_timeline.h"

namespace headroom {

/// Measure of the work of a step.
enum class WorkMeasure : std::uint8_t {
  kNone,
  kFlops,       ///< FLOPs from the shapes of its operators.
  kInputBytes,  ///< Bytes copied to the GPU.
};

/// Means of one rank over the compared steps.
struct RankWork {
  std::optional<DurationNs> computing;  ///< nullopt if it has no compared step.
  /// Work per step, in the unit of JobWork::measure; nullopt if unknown.
  std::optional<double> work;
};

struct JobWork {
  WorkMeasure measure = WorkMeasure::kNone;
  std::vector<RankWork> ranks;  ///< Indexed by rank; empty if no step is shared by several ranks.
  std::int64_t steps = 0;       ///< Number of steps that several ranks have.
  /// Excess of the longest computing time of a step over the mean of the ranks, as a share of that
  /// mean; averaged over the steps.
  double computing_imbalance = 0;
  std::optional<double> work_imbalance;  ///< The same for the work; nullopt if unknown.
  /// Excess of the longest computing time of a step over the mean of the ranks, averaged over the
  /// steps.
  DurationNs longest_excess;
  /// Share of the variance in computing time that work explains (Pearson's r, squared), among the
  /// ranks of each step, over all steps. 0 if the correlation is negative. nullopt if the work is
  /// unknown, or if ranks do not differ in work or time.
  std::optional<double> explained;
};

/// Compares the steps that several ranks have.
JobWork CompareWork(std::span<const RankTimeline> ranks);

}  // namespace headroom
