#include "cluster/rank_waits.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/statistics.h"
#include "cluster/collectives.h"

namespace headroom {
namespace {

struct Arrival {
  std::size_t rank;
  TimeNs start, end;  ///< On the first rank's clock.
  DurationNs exposed;
};

std::vector<Arrival> ArrivalsOf(const MatchedCollective& collective,
                                std::span<const RankTimeline> ranks, const Alignment& alignment) {
  std::vector<Arrival> arrivals;
  for (const MatchedCollective::Part& part : collective.parts) {
    const RankClock& clock = alignment.clocks[part.rank];
    if (!clock.aligned) continue;
    const RankCollective& recorded = ranks[part.rank].collectives[part.collective];
    arrivals.push_back({.rank = part.rank,
                        .start = clock.Aligned(recorded.start),
                        .end = clock.Aligned(recorded.end),
                        .exposed = recorded.end - recorded.start - recorded.hidden});
  }
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
    return std::tie(a.start, a.rank) < std::tie(b.start, b.rank);
  });
  return arrivals;
}

/// Sums over the collectives of a class.
struct ClassSums {
  CollectiveClass row;
  DurationNs exposed;  ///< Of all parts.
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

  void Add(const MatchedCollective& collective) {
    const std::vector<Arrival> arrivals = ArrivalsOf(collective, ranks_, alignment_);
    if (arrivals.size() < 2) return;
    const Arrival& last = arrivals.back();
    const DurationNs doubt = DoubtOf(arrivals);
    AddToClass(collective, arrivals);
    StepLoss& step = steps_[collective.step];
    for (const Arrival& arrival : arrivals) {
      const DurationNs wait = last.start - arrival.start;
      if (wait > doubt) waits_.ranks[arrival.rank].waited += wait;
    }
    // The median of the others: were the last one like them, so much earlier it would have begun.
    const Arrival& usual = arrivals[(arrivals.size() - 1) / 2];
    const DurationNs late = last.start - (arrivals.size() == 2 ? arrivals.front() : usual).start;
    if (late <= doubt) return;
    RankWaits& culprit = waits_.ranks[last.rank];
    culprit.caused += late;
    ++culprit.last;
    waits_.lost += late;
    step[last.rank] += late;
  }

  JobWaits Finish() {
    CountSteps();
    FindPattern();
    for (auto& [key, sums] : classes_) {
      CollectiveClass& row = sums.row;
      row.wait = DurationNs(row.wait.ns() / row.count);
      row.transfer = DurationNs(row.transfer.ns() / row.count);
      row.exposed = DurationNs(sums.exposed.ns() / sums.parts);
      SetBandwidth(row);
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
  using StepLoss = std::map<std::size_t, DurationNs>;  ///< By culprit.

  DurationNs DoubtOf(const std::vector<Arrival>& arrivals) const {
    DurationNs doubt;
    for (const Arrival& arrival : arrivals)
      doubt = std::max(doubt, alignment_.clocks[arrival.rank].uncertainty);
    return DurationNs(2 * doubt.ns());
  }

  void AddToClass(const MatchedCollective& collective, const std::vector<Arrival>& arrivals) {
    ClassSums& sums = classes_[{collective.group, collective.kind, collective.bytes.value_or(-1)}];
    CollectiveClass& row = sums.row;
    row.group = collective.group;
    row.kind = collective.kind;
    row.bytes = collective.bytes;
    ++row.count;
    row.ranks = std::max(row.ranks, static_cast<std::int64_t>(arrivals.size()));
    row.wait += arrivals.back().start - arrivals.front().start;
    std::vector<TimeNs> ends;
    for (const Arrival& arrival : arrivals) {
      ends.push_back(arrival.end);
      sums.exposed += arrival.exposed;
    }
    std::sort(ends.begin(), ends.end());
    row.transfer += std::max(DurationNs(0), SortedPercentile(ends, 50) - arrivals.back().start);
    sums.parts += static_cast<std::int64_t>(arrivals.size());
    const MatchedCollective::Part& part = collective.parts.front();
    row.members = ranks_[part.rank].collectives[part.collective].members.value_or(row.ranks);
  }

  static void SetBandwidth(CollectiveClass& row) {
    const std::optional<Collective> kind = CollectiveNamed(row.kind);
    if (!row.bytes || !kind || row.transfer.ns() <= 0) return;
    row.algorithm_gbs = *row.bytes / static_cast<double>(row.transfer.ns());
    const auto n = static_cast<double>(row.members);
    const double passes = *kind == Collective::kAllReduce ? 2 : 1;
    row.bus_gbs = *row.algorithm_gbs * passes * (n - 1) / n;
  }

  void CountSteps() {
    DurationNs time;
    for (const RankStep& step : ranks_.front().steps) {
      if (!steps_.contains(step.number)) continue;
      ++waits_.steps;
      time += step.wall;
    }
    if (time.ns() > 0)
      waits_.lost_share = static_cast<double>(waits_.lost.ns()) / static_cast<double>(time.ns());
  }

  void FindPattern() {
    std::int64_t losing = 0;
    for (const auto& [number, losses] : steps_) {
      if (losses.empty()) continue;
      ++losing;
      const auto most =
          std::max_element(losses.begin(), losses.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
      ++waits_.ranks[most->first].culprit;
    }
    if (losing == 0 || (waits_.steps > 0 && waits_.lost_share < kWorthNaming)) return;
    const auto most = std::max_element(
        waits_.ranks.begin(), waits_.ranks.end(),
        [](const RankWaits& a, const RankWaits& b) { return a.culprit < b.culprit; });
    const bool recurrent =
        static_cast<double>(most->culprit) >= kRecurrentShare * static_cast<double>(losing);
    if (losing == 1) {
      waits_.pattern = StragglerPattern::kOnce;
    } else {
      waits_.pattern = recurrent ? StragglerPattern::kRecurrent : StragglerPattern::kRotating;
    }
    if (waits_.pattern != StragglerPattern::kRotating)
      waits_.straggler = static_cast<std::size_t>(most - waits_.ranks.begin());
  }

  std::span<const RankTimeline> ranks_;
  const Alignment& alignment_;
  JobWaits waits_;
  std::map<std::tuple<std::string, std::string, double>, ClassSums> classes_;
  std::map<std::int64_t, StepLoss> steps_;  ///< By number.
};

}  // namespace

JobWaits MeasureWaits(std::span<const RankTimeline> ranks, const Alignment& alignment) {
  if (ranks.empty()) return {};
  WaitMeter meter(ranks, alignment);
  for (const MatchedCollective& collective : alignment.collectives) meter.Add(collective);
  return meter.Finish();
}

}  // namespace headroom
