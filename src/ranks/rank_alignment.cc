#include "ranks/rank_alignment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/statistics.h"
#include "network/collectives.h"

namespace headroom {
namespace {

using Key = std::tuple<std::string, std::string, std::int64_t>;  ///< Group, kind, step.
using Ordinals = std::map<Key, std::vector<std::size_t>>;  ///< Indices of collectives in order.

Ordinals OrdinalsOf(const RankTimeline& rank) {
  Ordinals ordinals;
  for (std::size_t c = 0; c < rank.collectives.size(); ++c) {
    const RankCollective& collective = rank.collectives[c];
    ordinals[{collective.group, collective.kind, collective.step}].push_back(c);
  }
  return ordinals;
}

/// Matches the collectives of one key if all ranks ran the same number of them. If a rank lost a
/// collective, all later collectives would match wrongly.
///
/// @param world  number of ranks of the job; 0 if not recorded
void MatchKey(std::span<const RankTimeline> ranks, const std::vector<Ordinals>& ordinals,
              const Key& key, std::int64_t world, std::vector<MatchedCollective>& matched) {
  const auto& [group, kind, step] = key;
  std::vector<std::pair<std::size_t, const std::vector<std::size_t>*>> holders;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto found = ordinals[r].find(key);
    if (found != ordinals[r].end()) holders.emplace_back(r, &found->second);
  }
  const std::size_t count = holders.front().second->size();
  const bool as_many = std::all_of(holders.begin(), holders.end(), [&](const auto& holder) {
    return holder.second->size() == count;
  });
  if (holders.size() < 2 || !as_many) return;
  const auto here = static_cast<std::int64_t>(holders.size());
  for (std::size_t ordinal = 0; ordinal < count; ++ordinal) {
    MatchedCollective collective{
        .group = group, .kind = kind, .step = step, .bytes = {}, .parts = {}};
    bool alike = true;
    for (const auto& [rank, list] : holders) {
      const RankCollective& part = ranks[rank].collectives[(*list)[ordinal]];
      if (collective.parts.empty()) collective.bytes = part.bytes;
      alike &= part.bytes == collective.bytes;
      alike &= !part.members || *part.members == here ||
               (*part.members == world && *part.members > here);
      collective.parts.push_back({.rank = rank, .collective = (*list)[ordinal]});
    }
    if (alike) matched.push_back(std::move(collective));
  }
}

/// Deviation of a rank's clock from the reference clock at one point in time.
struct Distance {
  TimeNs at;
  double ns;
};

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Returns the median slope (Theil-Sen). Uses only pairs that are half of the points apart, because
/// all pairs would be too slow.
double SlopeOf(const std::vector<Distance>& distances) {
  std::vector<double> slopes;
  const std::size_t half = distances.size() / 2;
  for (std::size_t i = 0; i + half < distances.size(); ++i) {
    const auto apart = static_cast<double>((distances[i + half].at - distances[i].at).ns());
    if (apart > 0) slopes.push_back((distances[i + half].ns - distances[i].ns) / apart);
  }
  return slopes.empty() ? 0 : MedianOf(std::move(slopes));
}

/// Returns the absolute deviations from a line with this slope, ascending. Sets `offset` to the
/// line's value at `origin`.
std::vector<double> Residuals(const std::vector<Distance>& distances, TimeNs origin, double slope,
                              double* offset) {
  std::vector<double> rest;
  rest.reserve(distances.size());
  for (const Distance& distance : distances)
    rest.push_back(distance.ns - slope * static_cast<double>((distance.at - origin).ns()));
  *offset = MedianOf(rest);
  for (double& residual : rest) residual = std::abs(residual - *offset);
  std::sort(rest.begin(), rest.end());
  return rest;
}

RankClock FitClock(std::vector<Distance> distances) {
  constexpr std::size_t kMinForDrift = 8;
  // A slope that leaves more than this share of the median residual is noise.
  constexpr double kBetterBy = 0.7;
  constexpr int kOfTen = 90;
  std::sort(distances.begin(), distances.end(),
            [](const Distance& a, const Distance& b) { return a.at < b.at; });
  RankClock clock;
  clock.aligned = true;
  clock.matches = distances.size();
  clock.origin = distances.front().at;
  double offset = 0;
  std::vector<double> rest = Residuals(distances, clock.origin, 0, &offset);
  if (distances.size() >= kMinForDrift) {
    const double slope = SlopeOf(distances);
    double with_drift = 0;
    std::vector<double> better = Residuals(distances, clock.origin, slope, &with_drift);
    if (better[better.size() / 2] < kBetterBy * rest[rest.size() / 2]) {
      clock.drift = slope;
      offset = with_drift;
      rest = std::move(better);
    }
  }
  clock.offset_ns = std::llround(offset);
  clock.uncertainty =
      std::max(kStampsAreWithin, DurationNs(std::llround(SortedPercentile(rest, kOfTen))));
  return clock;
}

/// Aligns the clocks to one root after another.
class ClockFinder {
 public:
  ClockFinder(std::span<const RankTimeline> ranks, Alignment& alignment)
      : ranks_(ranks), alignment_(alignment), tried_(ranks.size()) {}

  void FindAll() {
    while (const std::optional<std::size_t> root = NextRoot()) {
      tried_[*root] = true;
      alignment_.clocks[*root].aligned = true;
      alignment_.clocks[*root].root = *root;
      bool any = false;
      while (FindSome(*root)) any = true;
      // A root that aligns no other clock does not count as aligned.
      if (!any) alignment_.clocks[*root].aligned = false;
    }
  }

  /// Returns the ends of a collective by the clocks of one root, ascending.
  std::vector<TimeNs> EndsOf(const MatchedCollective& collective, std::size_t root) const {
    std::vector<TimeNs> ends;
    for (const MatchedCollective::Part& part : collective.parts) {
      const RankClock& clock = alignment_.clocks[part.rank];
      if (clock.aligned && clock.root == root)
        ends.push_back(clock.Aligned(ranks_[part.rank].collectives[part.collective].end));
    }
    std::sort(ends.begin(), ends.end());
    return ends;
  }

 private:
  /// Returns the rank with the most matched collectives among those without an aligned clock.
  std::optional<std::size_t> NextRoot() const {
    std::vector<std::size_t> shared(ranks_.size());
    for (const MatchedCollective& collective : alignment_.collectives) {
      if (!LeftTogether(collective.kind)) continue;
      for (const MatchedCollective::Part& part : collective.parts) {
        if (!tried_[part.rank] && !alignment_.clocks[part.rank].aligned) ++shared[part.rank];
      }
    }
    const auto most = std::max_element(shared.begin(), shared.end());
    if (most == shared.end() || *most < kMinMatches) return std::nullopt;
    return static_cast<std::size_t>(most - shared.begin());
  }

  /// Aligns ranks that share enough collectives with the aligned ranks. Returns true if it aligned
  /// any.
  bool FindSome(std::size_t root) {
    std::vector<std::vector<Distance>> distances(ranks_.size());
    DurationNs inherited;
    for (const RankClock& clock : alignment_.clocks) {
      if (clock.aligned && clock.root == root) inherited = std::max(inherited, clock.uncertainty);
    }
    for (const MatchedCollective& collective : alignment_.collectives) {
      if (!LeftTogether(collective.kind)) continue;
      const std::vector<TimeNs> ends = EndsOf(collective, root);
      if (ends.empty()) continue;
      const TimeNs end = SortedPercentile(ends, 50);
      for (const MatchedCollective::Part& part : collective.parts) {
        if (alignment_.clocks[part.rank].aligned) continue;
        const TimeNs seen = ranks_[part.rank].collectives[part.collective].end;
        distances[part.rank].push_back({end, static_cast<double>((seen - end).ns())});
      }
    }
    bool found = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      if (distances[r].size() < kMinMatches) continue;
      alignment_.clocks[r] = FitClock(std::move(distances[r]));
      alignment_.clocks[r].root = root;
      alignment_.clocks[r].uncertainty += inherited;
      found = true;
    }
    return found;
  }

  std::span<const RankTimeline> ranks_;
  Alignment& alignment_;
  std::vector<bool> tried_;
};

/// Drops matches whose ends differ by far more than the clocks' uncertainty: they are wrong
/// matches.
void DropMisfits(std::span<const RankTimeline> ranks, Alignment& alignment) {
  constexpr std::int64_t kTimesUncertain = 8;
  constexpr DurationNs kAtLeast{50'000};
  const ClockFinder finder(ranks, alignment);
  const auto misfit = [&](const MatchedCollective& collective) {
    if (!LeftTogether(collective.kind)) return false;
    const RankClock& first = alignment.clocks[collective.parts.front().rank];
    const std::vector<TimeNs> ends = finder.EndsOf(collective, first.root);
    if (!first.aligned || ends.size() < 2) return false;
    DurationNs doubt;
    for (const MatchedCollective::Part& part : collective.parts)
      doubt = std::max(doubt, alignment.clocks[part.rank].uncertainty);
    return ends.back() - ends.front() >
           std::max(kAtLeast, DurationNs(kTimesUncertain * doubt.ns()));
  };
  alignment.misfits = std::erase_if(alignment.collectives, misfit);
}

}  // namespace

bool LeftTogether(std::string_view kind) {
  return CollectiveNamed(kind) || kind.find("alltoall") != std::string_view::npos ||
         kind.find("all_to_all") != std::string_view::npos ||
         kind.find("barrier") != std::string_view::npos;
}

TimeNs RankClock::Aligned(TimeNs time) const {
  const TimeNs shifted = time - DurationNs(offset_ns);
  const auto since = static_cast<double>((shifted - origin).ns());
  return shifted - DurationNs(std::llround(drift * since));
}

Alignment AlignRanks(std::span<const RankTimeline> ranks) {
  Alignment alignment;
  alignment.clocks.resize(ranks.size());
  if (ranks.empty()) return alignment;
  std::vector<Ordinals> ordinals;
  std::vector<Key> keys;
  std::int64_t world = 0;
  for (const RankTimeline& rank : ranks) {
    ordinals.push_back(OrdinalsOf(rank));
    for (const auto& [key, list] : ordinals.back()) keys.push_back(key);
    world = std::max(world, rank.world_size.value_or(0));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const Key& key : keys) MatchKey(ranks, ordinals, key, world, alignment.collectives);
  // Orders collectives by time on each rank, because a wait in one collective influences the next.
  std::stable_sort(alignment.collectives.begin(), alignment.collectives.end(),
                   [](const MatchedCollective& a, const MatchedCollective& b) {
                     return std::tie(a.parts.front().rank, a.parts.front().collective) <
                            std::tie(b.parts.front().rank, b.parts.front().collective);
                   });
  std::size_t parts = 0;
  for (const MatchedCollective& collective : alignment.collectives)
    parts += collective.parts.size();
  for (const RankTimeline& rank : ranks) alignment.unmatched += rank.collectives.size();
  alignment.unmatched -= parts;
  ClockFinder(ranks, alignment).FindAll();
  DropMisfits(ranks, alignment);
  return alignment;
}

}  // namespace headroom
