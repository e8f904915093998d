// Why late ranks are late: more work, a slower GPU, or a later start.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ranks/rank_timeline.h"
#include "ranks/rank_waits.h"
#include "ranks/rank_work.h"

namespace headroom {

/// Why the late are late.
enum class LateCause : std::uint8_t {
  kNobodyIsLate,
  kUnknown,
  kMoreWork,   ///< Their steps have more to compute: longer samples, more layers, more tokens.
  kSlowGpu,    ///< Their GPU takes longer for the same work.
  kLateStart,  ///< They compute no longer: host, loader or network let them start late.
};

struct LateReason {
  LateCause cause = LateCause::kNobodyIsLate;
  std::string why = {};  ///< A sentence or several; empty: nobody is late.
};

/// A late rank's reason is its computing where that takes longer than a usual rank's by half of
/// what it holds the others up or more; and more work is the reason for that where the work is more
/// by half as large a share or more; bytes of input that are as many tell nothing. Where another
/// is late each time, it is the work where that explains half of the variance of computing or more,
/// and the rank that computes longest exceeds the mean of its step by half of what a step loses.
///
/// @param work  CompareWork() of the ranks
LateReason FindLateCause(std::span<const RankTimeline> ranks, const JobWaits& waits,
                         const JobWork& work);

}  // namespace headroom
