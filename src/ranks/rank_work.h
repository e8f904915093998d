// What each rank had to compute, and whether that is why it is late.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ranks/rank_timeline.h"
#include "ranks/rank_waits.h"

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

/// Why the late are late.
enum class LateCause : std::uint8_t {
  kNobodyIsLate,
  kUnknown,
  kMoreWork,   ///< Their steps have more to compute: longer samples, more layers, more tokens.
  kSlowGpu,    ///< Their GPU takes longer for the same work.
  kLateStart,  ///< They compute no longer: host, loader or network let them start late.
};

struct JobWork {
  WorkMeasure measure = WorkMeasure::kNone;
  std::vector<RankWork> ranks;  ///< By rank's index; empty: no step is of several ranks.
  std::int64_t steps = 0;       ///< That several ranks have.
  /// By how much the rank that computes longest is above the mean, a step.
  double computing_imbalance = 0;
  std::optional<double> work_imbalance;  ///< The same of the work.
  /// Share of the variance of computing times among the ranks of a step, over all steps, that goes
  /// with more work (Pearson's r, squared; less work for longer computing explains nothing). None:
  /// work is not known, or ranks do not differ in either.
  std::optional<double> explained;
  LateCause cause = LateCause::kNobodyIsLate;
  std::string why;  ///< A sentence; empty: nobody is late.
};

/// A late rank's reason is its computing where that takes longer than a usual rank's by half of
/// what it holds the others up or more; and more work is the reason for that where the work is more
/// by half as large a share or more; bytes of input that are as many tell nothing. Where another
/// is late each time, it is the work where that explains half of the variance of computing or more,
/// and the rank that computes longest exceeds the mean of its step by half of what a step loses.
JobWork CompareWork(std::span<const RankTimeline> ranks, const JobWaits& waits);

}  // namespace headroom
