// Clocks of ranks, aligned on the collectives that the ranks ran together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/rank_timeline.h"

namespace headroom {

/// A collective that several ranks recorded.
struct MatchedCollective {
  std::string group, kind;
  std::int64_t step = RankCollective::kNoStep;
  std::optional<double> bytes;
  struct Part {
    std::size_t rank;        ///< Index of the rank's timeline.
    std::size_t collective;  ///< Index into the rank's collectives.
  };
  std::vector<Part> parts;  ///< Sorted by rank; at least two.
};

/// Converts a rank's clock into that of another rank, the root.
struct RankClock {
  /// True if at least kMinMatches collectives match.
  bool aligned = false;
  std::size_t root = 0;        ///< Index of the rank whose clock is the target.
  std::int64_t offset_ns = 0;  ///< Subtract this from the rank's time at `origin`.
  double drift = 0;            ///< Excess speed of the clock: 1e-6 is 1 us per second.
  TimeNs origin;
  /// 90 % of the ends of matched collectives differ from their predicted time by at most this.
  DurationNs uncertainty;
  std::size_t matches = 0;

  TimeNs Aligned(TimeNs time) const;
};

inline constexpr std::size_t kMinMatches = 3;

/// Lower bound of a clock's uncertainty: profilers convert GPU timestamps to the host's clock with
/// about this precision.
inline constexpr DurationNs kStampsAreWithin{1'000};

/// Returns true if no rank leaves a collective of this kind before the last rank arrives.
bool LeftTogether(std::string_view kind);

struct Alignment {
  std::vector<RankClock> clocks;  ///< Indexed by rank; a root's clock has itself as root.
  /// Sorted by first rank, then in the order in which that rank ran them.
  std::vector<MatchedCollective> collectives;
  /// Number of matched collectives that were dropped because they did not end together.
  std::size_t misfits = 0;
  std::size_t unmatched = 0;  ///< Number of collectives of any rank without a counterpart.
};

/// Matches collectives by communicator, kind, step and their order in the step.
/// - All ranks must have run the same number of them.
/// - Their sizes must be equal.
/// - All members of the communicator must be present, unless it spans the whole job. Otherwise
///   several groups may share the name.
///
/// Collectives that all ranks leave together (LeftTogether()) align the clocks. The offset is the
/// median difference of their ends. The drift is the slope of that difference over time
/// (Theil-Sen). It is 0 if there are too few collectives, or if a slope fits hardly better. Ranks
/// that share no such collectives, even indirectly, have different roots. The first root is the
/// rank with the most matched collectives; the remaining ranks follow the same rule.
///
/// O(collectives x ranks). Does not trust any clock.
Alignment AlignRanks(std::span<const RankTimeline> ranks);

}  // namespace headroom
