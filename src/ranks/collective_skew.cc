#include "ranks/collective_skew.h"

#include <algorithm>
#include <optional>

#include "base/statistics.h"
#include "network/collectives.h"

namespace headroom {
namespace {

/// A collective on the common clock of the compared ranks.
struct OnOneClock {
  const RankCollective* own = nullptr;  ///< The collective as the requested rank recorded it.
  TimeNs own_start, last_start;
  std::vector<TimeNs> ends;  ///< Ends of all parts.
  DurationNs doubt;          ///< Twice the largest uncertainty of the ranks' clocks.
};

/// Returns nullopt if the rank has no part in the collective, or if no other part is on the same
/// clock.
std::optional<OnOneClock> Place(const MatchedCollective& collective,
                                std::span<const RankTimeline> ranks, const Alignment& alignment,
                                std::size_t rank) {
  OnOneClock placed;
  for (const MatchedCollective::Part& part : collective.parts) {
    const RankClock& clock = alignment.clocks[part.rank];
    if (!clock.aligned || clock.root != alignment.clocks[rank].root) continue;
    const RankCollective& recorded = ranks[part.rank].collectives[part.collective];
    const TimeNs start = clock.Aligned(recorded.start);
    if (part.rank == rank) {
      placed.own = &recorded;
      placed.own_start = start;
    }
    placed.last_start = placed.ends.empty() ? start : std::max(placed.last_start, start);
    placed.ends.push_back(clock.Aligned(recorded.end));
    placed.doubt = std::max(placed.doubt, DurationNs(2 * clock.uncertainty.ns()));
  }
  if (placed.own == nullptr || placed.ends.size() < 2) return std::nullopt;
  std::sort(placed.ends.begin(), placed.ends.end());
  return placed;
}

}  // namespace

CollectiveSkew MeasureSkew(std::span<const RankTimeline> ranks, const Alignment& alignment,
                           std::size_t rank, std::int64_t members) {
  CollectiveSkew skew;
  if (!alignment.clocks[rank].aligned) return skew;
  for (const MatchedCollective& collective : alignment.collectives) {
    if (!LeftTogether(collective.kind)) continue;
    const std::optional<OnOneClock> placed = Place(collective, ranks, alignment, rank);
    if (!placed) continue;
    const RankCollective& own = *placed->own;
    skew.waits.emplace(std::pair(own.start, own.end),
                       std::min(placed->last_start - placed->own_start, own.end - own.start));
    const bool whole = !own.members || *own.members == members;
    if (CollectiveNamed(collective.kind) != Collective::kAllReduce || !collective.bytes || !whole)
      continue;
    const DurationNs transfer = SortedPercentile(placed->ends, 50) - placed->last_start;
    if (transfer > placed->doubt) skew.all_reduces.push_back({*collective.bytes, transfer.ms()});
  }
  return skew;
}

}  // namespace headroom
