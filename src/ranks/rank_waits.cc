#include "ranks/rank_waits.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/interval_set.h"
#include "base/statistics.h"
#include "network/collectives.h"

namespace headroom {
namespace {

struct Arrival {
  std::size_t rank;
  TimeNs start, end;  ///< Times on the root's clock.
  DurationNs exposed;
  DurationNs hidden;  ///< Time that overlaps the rank's compute.
};

std::vector<Arrival> ArrivalsOf(const MatchedCollective& collective,
                                std::span<const RankTimeline> ranks, const Alignment& alignment) {
  std::vector<Arrival> arrivals;
  // Ranks that share a collective share a root, unless they share too few collectives.
  const std::size_t root = alignment.clocks[collective.parts.front().rank].root;
  for (const MatchedCollective::Part& part : collective.parts) {
    const RankClock& clock = alignment.clocks[part.rank];
    if (!clock.aligned || clock.root != root) continue;
    const RankCollective& recorded = ranks[part.rank].collectives[part.collective];
    arrivals.push_back({.rank = part.rank,
                        .start = clock.Aligned(recorded.start),
                        .end = clock.Aligned(recorded.end),
                        .exposed = recorded.end - recorded.start - recorded.hidden,
                        .hidden = recorded.hidden});
  }
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
    return std::tie(a.start, a.rank) < std::tie(b.start, b.rank);
  });
  return arrivals;
}

/// Sums over the collectives of a class.
struct ClassSums {
  CollectiveClass row;
  DurationNs exposed, hidden;  ///< Sums over all parts.
  DurationNs doubt;            ///< Largest DoubtOf() of the collectives.
  std::int64_t parts = 0;
};

class WaitMeter {
 public:
  WaitMeter(std::span<const RankTimeline> ranks, const Alignment& alignment)
      : ranks_(ranks), alignment_(alignment) {
    waits_.ranks.resize(ranks.size());
    for (const RankClock& clock : alignment.clocks) {
      if (clock.aligned) waits_.uncertainty = std::max(waits_.uncertainty, clock.uncertainty);
    }
  }

  void Add(const MatchedCollective& collective, const std::vector<Arrival>& arrivals) {
    const DurationNs doubt = DoubtOf(arrivals);
    AddToClass(collective, arrivals, doubt);
    const Arrival& last = arrivals.back();
    StepLoss& step = steps_[collective.step];
    const Arrival& median = arrivals[(arrivals.size() - 1) / 2];
    const TimeNs usual = median.start;
    const DurationNs late = last.start - usual;
    // Without the late ranks, the transfer would begin earlier by `late` and overlap the same
    // compute. The collective would be shorter by its wait, and the step by the exposed part of
    // that wait.
    const TimeNs idle = last.start - std::min(late, median.exposed);
    for (const Arrival& arrival : arrivals) AddPointToPointBefore(arrival, collective.step);
    for (const Arrival& arrival : arrivals) {
      const DurationNs wait = last.start - arrival.start;
      if (wait <= doubt) continue;
      waits_.ranks[arrival.rank].waited += wait;
      step.ranks[arrival.rank].waited += wait;
      RankPairWaits& pair = pairs_[{arrival.rank, last.rank}];
      pair.waited += wait;
      ++pair.collectives;
    }
    if (late > doubt) {
      step.lost.push_back({idle, last.start});
      const DurationNs usual_wait = blocked_[median.rank].Since(collective.group);
      for (const Arrival& arrival : arrivals) {
        const DurationNs behind = arrival.start - usual;
        if (2 * behind.ns() <= late.ns()) continue;
        // Time blocked by other ranks is not this rank's lateness.
        const DurationNs blocked = blocked_[arrival.rank].Since(collective.group) - usual_wait;
        Blame(arrival.rank, arrival.start - idle - std::max(DurationNs(0), blocked), step);
      }
    }
    for (const Arrival& arrival : arrivals) {
      Blocked& blocked = blocked_[arrival.rank];
      const DurationNs wait = last.start - arrival.start;
      if (wait > doubt) blocked.total += std::max(DurationNs(0), wait - arrival.hidden);
      blocked.at_group[collective.group] = blocked.total;
    }
  }

  void CountOtherKind() { ++waits_.other_kinds; }

  JobWaits Finish() {
    CountSteps();
    FindPattern();
    FindHost();
    ListSteps();
    ListPairs();
    for (auto& [key, sums] : classes_) {
      CollectiveClass& row = sums.row;
      row.wait = DurationNs(row.wait.ns() / row.count);
      row.transfer = DurationNs(row.transfer.ns() / row.count);
      row.exposed = DurationNs(sums.exposed.ns() / sums.parts);
      row.hidden = DurationNs(sums.hidden.ns() / sums.parts);
      if (row.transfer > sums.doubt) SetBandwidth(row);
      waits_.classes.push_back(row);
    }
    std::stable_sort(waits_.classes.begin(), waits_.classes.end(),
                     [](const CollectiveClass& a, const CollectiveClass& b) {
                       return a.count * (a.wait + a.transfer).ns() >
                              b.count * (b.wait + b.transfer).ns();
                     });
    return std::move(waits_);
  }

 private:
  void FindHost() {
    for (const std::size_t straggler : waits_.stragglers) {
      const std::string& host = ranks_[straggler].host;
      if (straggler == waits_.stragglers.front()) waits_.straggler_host = host;
      if (host != waits_.straggler_host) waits_.straggler_host.clear();
    }
  }

  struct StepLoss {
    std::vector<Interval> lost = {};  ///< Intervals in which the median rank waited.
    std::map<std::size_t, DurationNs> culprits = {};
    std::map<std::size_t, RankStepWaits> ranks = {};  ///< Without their members `rank` and `step`.
    bool is_worth_naming = true;  ///< False: the step loses less than kWorthNaming.
  };
  /// Time of a step in which a rank could not go on: it waited in collectives, or sent to and
  /// received from neighbours.
  struct Blocked {
    std::int64_t step = RankCollective::kNoStep;
    DurationNs total;
    /// `total` after each group's last collective.
    std::map<std::string, DurationNs> at_group = {};
    std::size_t next = 0;  ///< Index of the rank's first unprocessed collective.
    TimeNs until = {};     ///< Sends and receives count up to this time.

    /// Returns the time since the group's last collective, which its ranks left together.
    DurationNs Since(const std::string& group) const {
      const auto last = at_group.find(group);
      return last == at_group.end() ? total : total - last->second;
    }
  };

  /// Adds the exposed time of sends and receives before the arrival.
  void AddPointToPointBefore(const Arrival& arrival, std::int64_t step) {
    Blocked& blocked = blocked_[arrival.rank];
    if (blocked.step != step)
      blocked = {.step = step, .total = {}, .next = blocked.next, .until = blocked.until};
    const std::vector<RankCollective>& recorded = ranks_[arrival.rank].collectives;
    for (; blocked.next < recorded.size(); ++blocked.next) {
      const RankCollective& one = recorded[blocked.next];
      const RankClock& clock = alignment_.clocks[arrival.rank];
      const TimeNs start = std::max(clock.Aligned(one.start), blocked.until);
      if (clock.Aligned(one.start) >= arrival.start) break;
      if (one.step != step || !IsPointToPoint(one.kind)) continue;
      // A send that goes on during the collective did not delay it.
      const TimeNs end = std::min(clock.Aligned(one.end), arrival.start);
      blocked.total += std::max(DurationNs(0), end - start - one.hidden);
      blocked.until = std::max(blocked.until, end);
    }
  }

  void Blame(std::size_t rank, DurationNs behind, StepLoss& step) {
    if (behind.ns() <= 0) return;
    waits_.ranks[rank].caused += behind;
    ++waits_.ranks[rank].last;
    step.culprits[rank] += behind;
    step.ranks[rank].caused += behind;
  }

  void ListSteps() {
    for (const auto& [number, step] : steps_) {
      if (number == RankCollective::kNoStep) continue;
      for (const auto& [rank, waits] : step.ranks) {
        waits_.steps_of_ranks.push_back(
            {.rank = rank, .step = number, .waited = waits.waited, .caused = waits.caused});
      }
    }
  }

  void ListPairs() {
    for (const auto& [ranks, waits] : pairs_) {
      waits_.pairs.push_back({.waiting = ranks.first,
                              .last = ranks.second,
                              .waited = waits.waited,
                              .collectives = waits.collectives});
    }
    std::stable_sort(
        waits_.pairs.begin(), waits_.pairs.end(),
        [](const RankPairWaits& a, const RankPairWaits& b) { return a.waited > b.waited; });
  }

  DurationNs DoubtOf(const std::vector<Arrival>& arrivals) const {
    DurationNs doubt;
    for (const Arrival& arrival : arrivals)
      doubt = std::max(doubt, alignment_.clocks[arrival.rank].uncertainty);
    return DurationNs(2 * doubt.ns());
  }

  void AddToClass(const MatchedCollective& collective, const std::vector<Arrival>& arrivals,
                  DurationNs doubt) {
    ClassSums& sums = classes_[{collective.group, collective.kind, collective.bytes.value_or(-1)}];
    CollectiveClass& row = sums.row;
    row.group = collective.group;
    row.kind = collective.kind;
    row.bytes = collective.bytes;
    ++row.count;
    row.ranks = std::max(row.ranks, static_cast<std::int64_t>(arrivals.size()));
    const Arrival& last = arrivals.back();
    const bool told = last.start - arrivals.front().start > doubt;
    const TimeNs begin = told ? last.start : arrivals[(arrivals.size() - 1) / 2].start;
    if (told) row.wait += last.start - arrivals.front().start;
    std::vector<TimeNs> ends;
    for (const Arrival& arrival : arrivals) {
      ends.push_back(arrival.end);
      sums.exposed += arrival.exposed;
      sums.hidden += arrival.hidden;
    }
    std::sort(ends.begin(), ends.end());
    row.transfer += std::max(DurationNs(0), SortedPercentile(ends, 50) - begin);
    sums.doubt = std::max(sums.doubt, doubt);
    sums.parts += static_cast<std::int64_t>(arrivals.size());
    const MatchedCollective::Part& part = collective.parts.front();
    row.members = ranks_[part.rank].collectives[part.collective].members.value_or(row.ranks);
  }

  static void SetBandwidth(CollectiveClass& row) {
    const std::optional<Collective> kind = CollectiveNamed(row.kind);
    if (!row.bytes || !kind) return;
    row.algorithm_gbs = *row.bytes / static_cast<double>(row.transfer.ns());
    const auto n = static_cast<double>(row.members);
    const double passes = *kind == Collective::kAllReduce ? 2 : 1;
    row.bus_gbs = *row.algorithm_gbs * passes * (n - 1) / n;
  }

  /// Takes the length of each step from the first rank that recorded it.
  void CountSteps() {
    std::map<std::int64_t, DurationNs> walls;
    for (const RankTimeline& rank : ranks_) {
      for (const RankStep& step : rank.steps) walls.try_emplace(step.number, step.wall);
    }
    DurationNs time, lost, outside;
    for (auto& [number, losses] : steps_) {
      const DurationNs measure = IntervalSet::UnionOf(losses.lost).Measure();
      const auto wall = walls.find(number);
      if (number == RankCollective::kNoStep || wall == walls.end()) {
        outside += measure;
        continue;
      }
      ++waits_.steps;
      time += wall->second;
      lost += measure;
      losses.is_worth_naming = static_cast<double>(measure.ns()) >=
                               kWorthNaming * static_cast<double>(wall->second.ns());
    }
    // Losses outside steps count only if there are no steps, because shares refer to steps.
    waits_.lost = waits_.steps > 0 ? lost : outside;
    if (time.ns() > 0)
      waits_.lost_share = static_cast<double>(lost.ns()) / static_cast<double>(time.ns());
  }

  void FindPattern() {
    constexpr double kNearly = 0.9;
    std::int64_t losing = 0;
    for (const auto& [number, losses] : steps_) {
      if (number == RankCollective::kNoStep || !losses.is_worth_naming || losses.culprits.empty())
        continue;
      ++losing;
      DurationNs most;
      for (const auto& [rank, caused] : losses.culprits) most = std::max(most, caused);
      for (const auto& [rank, caused] : losses.culprits) {
        if (static_cast<double>(caused.ns()) >= kNearly * static_cast<double>(most.ns()))
          ++waits_.ranks[rank].culprit;
      }
    }
    if (losing == 0 || waits_.lost_share.value_or(0) < kWorthNaming) return;
    for (std::size_t r = 0; r < waits_.ranks.size(); ++r) {
      if (static_cast<double>(waits_.ranks[r].culprit) >=
          kRecurrentShare * static_cast<double>(losing))
        waits_.stragglers.push_back(r);
    }
    waits_.pattern = waits_.stragglers.empty() ? StragglerPattern::kRotating
                     : losing == 1             ? StragglerPattern::kOnce
                                               : StragglerPattern::kRecurrent;
  }

  std::span<const RankTimeline> ranks_;
  const Alignment& alignment_;
  JobWaits waits_;
  std::map<std::tuple<std::string, std::string, double>, ClassSums> classes_;
  std::map<std::int64_t, StepLoss> steps_;  ///< Keyed by step number.
  /// Keyed by the indices of the waiting and the last rank; without the members of these names.
  std::map<std::pair<std::size_t, std::size_t>, RankPairWaits> pairs_;
  std::map<std::size_t, Blocked> blocked_;  ///< Keyed by rank index.
};

}  // namespace

JobWaits MeasureWaits(std::span<const RankTimeline> ranks, const Alignment& alignment) {
  if (ranks.empty()) return {};
  WaitMeter meter(ranks, alignment);
  std::vector<std::pair<const MatchedCollective*, std::vector<Arrival>>> compared;
  for (const MatchedCollective& collective : alignment.collectives) {
    if (!LeftTogether(collective.kind)) {
      meter.CountOtherKind();
      continue;
    }
    std::vector<Arrival> arrivals = ArrivalsOf(collective, ranks, alignment);
    if (arrivals.size() > 1) compared.emplace_back(&collective, std::move(arrivals));
  }
  // Adds collectives in order of time, because a rank's wait influences its next arrival.
  std::stable_sort(compared.begin(), compared.end(), [](const auto& a, const auto& b) {
    return a.second.back().start < b.second.back().start;
  });
  for (const auto& [collective, arrivals] : compared) meter.Add(*collective, arrivals);
  return meter.Finish();
}

}  // namespace headroom
