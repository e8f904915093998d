// Finds why ranks are late: more work, a slower GPU, or a later start.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ranks/rank_timeline.h"
#include "ranks/rank_waits.h"
#include "ranks/rank_work.h"

namespace headroom {

/// Cause of the lateness of the stragglers.
enum class LateCause : std::uint8_t {
  kNobodyIsLate,
  kUnknown,
  kMoreWork,   ///< Their steps need more compute: longer samples, more layers, more tokens.
  kSlowGpu,    ///< Their GPU takes longer for the same work.
  kLateStart,  ///< They do not compute longer: host, data loader or network makes them start late.
};

struct LateReason {
  LateCause cause = LateCause::kNobodyIsLate;
  /// Sentences for the user; empty if no rank is late or no steps could be compared.
  std::string why = {};
};

/// Finds the cause for each late rank. The rank that costs the others most determines the cause of
/// the job.
///
/// The cause for a late rank is one of these:
/// - Late start: the excess of its computing time over the median rank is less than half of the
///   time that the rank costs the others.
/// - More work: otherwise, if the relative excess of its work is at least half that of its time.
/// - Slow GPU: otherwise. Equal input bytes do not separate the last two.
///
/// If the late rank changes from step to step, the cause is one of these:
/// - Late start: the longest computing time exceeds the mean of its step by less than half of the
///   time lost per step.
/// - More work: work explains at least half of the variance of computing times.
///
/// @param work  CompareWork() of the ranks
LateReason FindLateCause(std::span<const RankTimeline> ranks, const JobWaits& waits,
                         const JobWork& work);

}  // namespace headroom
