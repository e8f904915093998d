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

/// Finds the cause for each late rank; the one that costs the others most names the cause of all.
///
/// A rank that computes longer than a usual rank, by at least half of the time that it costs the
/// others, has more work (if its work is larger by at least half as large a share) or a slow GPU.
/// Equal bytes of input do not decide between the two. Any other late rank starts late.
///
/// If the late rank changes from step to step, the cause is more work if the work explains at least
/// half of the variance of computing times. It is a late start if the longest computing exceeds the
/// mean of its step by less than half of what a step loses.
///
/// @param work  CompareWork() of the ranks
LateReason FindLateCause(std::span<const RankTimeline> ranks, const JobWaits& waits,
                         const JobWork& work);

}  // namespace headroom
