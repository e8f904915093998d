#include "cluster/rank_alignment.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/statistics.h"
#include "cluster/collectives.h"

namespace headroom {
namespace {

using Key = std::tuple<std::string, std::string, std::int64_t>;  ///< Group, kind, step.
using Ordinals = std::map<Key, std::vector<std::size_t>>;        ///< Collectives in order.

Ordinals OrdinalsOf(const RankTimeline& rank) {
  Ordinals ordinals;
  for (std::size_t c = 0; c < rank.collectives.size(); ++c) {
    const RankCollective& collective = rank.collectives[c];
    ordinals[{collective.group, collective.kind, collective.step}].push_back(c);
  }
  return ordinals;
}

/// Those of one key. Without steps, order tells only where all ranks ran as many.
void MatchKey(std::span<const RankTimeline> ranks, const std::vector<Ordinals>& ordinals,
              const Key& key, std::vector<MatchedCollective>& matched) {
  const auto& [group, kind, step] = key;
  std::vector<std::pair<std::size_t, const std::vector<std::size_t>*>> holders;
  std::size_t most = 0, least = SIZE_MAX;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto found = ordinals[r].find(key);
    if (found == ordinals[r].end()) continue;
    holders.emplace_back(r, &found->second);
    most = std::max(most, found->second.size());
    least = std::min(least, found->second.size());
  }
  if (holders.size() < 2 || (step == RankCollective::kNoStep && least != most)) return;
  for (std::size_t ordinal = 0; ordinal < most; ++ordinal) {
    MatchedCollective collective{
        .group = group, .kind = kind, .step = step, .bytes = {}, .parts = {}};
    bool alike = true;
    for (const auto& [rank, list] : holders) {
      if (ordinal >= list->size()) continue;
      const RankCollective& part = ranks[rank].collectives[(*list)[ordinal]];
      if (collective.parts.empty()) collective.bytes = part.bytes;
      alike &= part.bytes == collective.bytes;
      // One name for several groups: who is with whom is not known.
      alike &= !part.members || holders.size() <= static_cast<std::size_t>(*part.members);
      collective.parts.push_back({.rank = rank, .collective = (*list)[ordinal]});
    }
    if (alike && collective.parts.size() > 1) matched.push_back(std::move(collective));
  }
}

/// A point in time, and how much later a rank saw it than the first rank's clock says.
struct Distance {
  TimeNs at;
  double ns;
};

double MedianOf(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Median slope of pairs half of the points apart (Theil, Sen; every pair costs too much).
double SlopeOf(const std::vector<Distance>& distances) {
  std::vector<double> slopes;
  const std::size_t half = distances.size() / 2;
  for (std::size_t i = 0; i + half < distances.size(); ++i) {
    const auto apart = static_cast<double>((distances[i + half].at - distances[i].at).ns());
    if (apart > 0) slopes.push_back((distances[i + half].ns - distances[i].ns) / apart);
  }
  return slopes.empty() ? 0 : MedianOf(std::move(slopes));
}

/// Distances from a line, ascending.
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
  constexpr std::size_t kFewestForDrift = 8;
  constexpr double kBetterBy = 0.7;  // Of the median residual: else a slope is noise.
  constexpr int kOfTen = 90;
  std::sort(distances.begin(), distances.end(),
            [](const Distance& a, const Distance& b) { return a.at < b.at; });
  RankClock clock;
  clock.aligned = true;
  clock.matches = distances.size();
  clock.origin = distances.front().at;
  double offset = 0;
  std::vector<double> rest = Residuals(distances, clock.origin, 0, &offset);
  if (distances.size() >= kFewestForDrift) {
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

/// Where the ranks whose clocks are known put the end; nullopt: none of them took part.
std::optional<TimeNs> EndOf(const MatchedCollective& collective,
                            std::span<const RankTimeline> ranks,
                            const std::vector<RankClock>& clocks) {
  std::vector<TimeNs> ends;
  for (const MatchedCollective::Part& part : collective.parts) {
    if (clocks[part.rank].aligned)
      ends.push_back(clocks[part.rank].Aligned(ranks[part.rank].collectives[part.collective].end));
  }
  if (ends.empty()) return std::nullopt;
  std::sort(ends.begin(), ends.end());
  return SortedPercentile(ends, 50);
}

}  // namespace

TimeNs RankClock::Aligned(TimeNs time) const {
  const TimeNs shifted = time - DurationNs(offset_ns);
  const double since = static_cast<double>((shifted - origin).ns());
  return shifted - DurationNs(std::llround(drift * since));
}

Alignment AlignRanks(std::span<const RankTimeline> ranks) {
  Alignment alignment;
  alignment.clocks.resize(ranks.size());
  if (ranks.empty()) return alignment;
  alignment.clocks.front().aligned = true;
  std::vector<Ordinals> ordinals;
  std::vector<Key> keys;  // As they first come.
  for (const RankTimeline& rank : ranks) {
    ordinals.push_back(OrdinalsOf(rank));
    for (const auto& [key, list] : ordinals.back()) keys.push_back(key);
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const Key& key : keys) MatchKey(ranks, ordinals, key, alignment.collectives);
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

  // A rank that shares no collective with the first is aligned by way of others.
  for (bool found = true; found;) {
    found = false;
    std::vector<std::vector<Distance>> distances(ranks.size());
    for (const MatchedCollective& collective : alignment.collectives) {
      if (!CollectiveNamed(collective.kind)) continue;
      const std::optional<TimeNs> end = EndOf(collective, ranks, alignment.clocks);
      if (!end) continue;
      for (const MatchedCollective::Part& part : collective.parts) {
        if (alignment.clocks[part.rank].aligned) continue;
        const TimeNs seen = ranks[part.rank].collectives[part.collective].end;
        distances[part.rank].push_back({*end, static_cast<double>((seen - *end).ns())});
      }
    }
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      if (distances[r].size() < kFewestMatches) continue;
      alignment.clocks[r] = FitClock(std::move(distances[r]));
      found = true;
    }
  }
  return alignment;
}

}  // namespace headroom
