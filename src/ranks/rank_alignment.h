// Clocks of ranks, aligned on the collectives that they ran together.
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

/// A collective of which several ranks' parts are known.
struct MatchedCollective {
  std::string group, kind;
  std::int64_t step = RankCollective::kNoStep;
  std::optional<double> bytes;
  struct Part {
    std::size_t rank;        ///< Index of its timeline.
    std::size_t collective;  ///< Of its collectives.
  };
  std::vector<Part> parts;  ///< By rank; at least two.
};

/// What turns a rank's clock into that of another, its root.
struct RankClock {
  /// Whether enough collectives were matched (kMinMatches) to tell.
  bool aligned = false;
  std::size_t root = 0;        ///< Index of the rank whose clock it is turned into.
  std::int64_t offset_ns = 0;  ///< At `origin`, to be taken off.
  double drift = 0;            ///< By which it runs faster: 1e-6 is 1 us per second.
  TimeNs origin;
  /// Nine of ten ends of matched collectives lie within this of where the clock puts them.
  DurationNs uncertainty;
  std::size_t matches = 0;

  TimeNs Aligned(TimeNs time) const;
};

inline constexpr std::size_t kMinMatches = 3;

/// No clock is said to be known better: a profiler takes a GPU's stamps to the host's clock to
/// about this.
inline constexpr DurationNs kStampsAreWithin{1'000};

/// Whether no rank leaves such a collective before the last has come.
bool LeftTogether(std::string_view kind);

struct Alignment {
  std::vector<RankClock> clocks;               ///< By rank; a root is its own.
  std::vector<MatchedCollective> collectives;  ///< In order of the first rank that ran each.
  std::size_t misfits = 0;                     ///< Joined ones that did not end together: left out.
  std::size_t unmatched = 0;                   ///< Collectives of any rank without a counterpart.
};

/// Joins collectives by communicator, kind, step and order in it, where all ranks ran as many.
/// Those whose sizes differ are not joined, nor those of a communicator that has more members than
/// are here, unless it is the whole job: its name may stand for several. Collectives that all ranks
/// leave together (LeftTogether()) tell the clocks: the median distance of their ends, and its
/// slope over time where there are enough (Theil and Sen). Ranks that share none, not even by way
/// of others, have different roots: the rank of most collectives is one, and so on with the rest.
///
/// O(collectives x ranks); no clock is trusted, whatever it says.
Alignment AlignRanks(std::span<const RankTimeline> ranks);

}  // namespace headroom
