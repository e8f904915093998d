#include "ranks/late_cause.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "base/statistics.h"

namespace headroom {
namespace {

constexpr double kHalf = 0.5;
/// Relative differences below this count as equal in the explanation.
constexpr double kAlike = 0.01;

std::string_view InWords(WorkMeasure measure) {
  return measure == WorkMeasure::kFlops ? "FLOPs from operator shapes" : "bytes of input";
}

class CauseFinder {
 public:
  CauseFinder(std::span<const RankTimeline> ranks, const JobWaits& waits, const JobWork& work)
      : ranks_(ranks), waits_(waits), work_(work) {}

  LateReason Find() const {
    if (waits_.pattern == StragglerPattern::kNone) return {};
    if (work_.steps == 0) return {.cause = LateCause::kUnknown};
    return waits_.pattern == StragglerPattern::kRotating ? ExplainRotating() : ExplainStragglers();
  }

 private:
  double PerStep(DurationNs all) const {
    return static_cast<double>(all.ns()) /
           static_cast<double>(std::max<std::int64_t>(1, waits_.steps));
  }

  /// Explains each straggler separately. If causes differ, the straggler that costs the others most
  /// determines the job's cause.
  LateReason ExplainStragglers() const {
    LateReason all{.cause = LateCause::kUnknown};
    constexpr std::size_t kMaxSaid = 3;
    std::vector<std::size_t> late = waits_.stragglers;
    std::stable_sort(late.begin(), late.end(), [&](std::size_t a, std::size_t b) {
      return waits_.ranks[a].caused > waits_.ranks[b].caused;
    });
    for (std::size_t i = 0; i < std::min(kMaxSaid, late.size()); ++i) {
      const LateReason reason = ExplainStraggler(late[i]);
      if (i == 0) all.cause = reason.cause;
      if (!reason.why.empty()) all.why += (all.why.empty() ? "" : " ") + reason.why;
    }
    return all;
  }

  LateReason ExplainRotating() const {
    if (static_cast<double>(work_.longest_excess.ns()) < kHalf * PerStep(waits_.lost)) {
      return {
          LateCause::kLateStart,
          "Ranks hardly differ in computing time: different ranks start late in different steps."};
    }
    if (work_.measure == WorkMeasure::kNone) {
      return {LateCause::kUnknown,
              "The work per step was not recorded; record with record_shapes=True."};
    }
    if (!work_.explained) {
      return {LateCause::kUnknown,
              "Ranks differ in computing time, but their work does not differ, or there are too "
              "few steps to compare."};
    }
    return {*work_.explained >= kHalf ? LateCause::kMoreWork : LateCause::kUnknown,
            fmt::format("Among the ranks of a step, the work ({}) explains {:.0f} % of the "
                        "variation in computing time.",
                        InWords(work_.measure), 100 * *work_.explained)};
  }

  /// Returns the median over the ranks that are not late; 0 if there are none.
  template <typename ValueOf>
  double Usual(ValueOf value_of) const {
    std::vector<double> values;
    for (std::size_t r = 0; r < work_.ranks.size(); ++r) {
      const bool late = std::find(waits_.stragglers.begin(), waits_.stragglers.end(), r) !=
                        waits_.stragglers.end();
      if (!late && work_.ranks[r].computing) values.push_back(value_of(work_.ranks[r]));
    }
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return SortedPercentile(values, 50);
  }

  std::int64_t NumberOf(std::size_t rank) const { return ranks_[rank].rank.value_or(0); }

  LateReason ExplainStraggler(std::size_t rank) const {
    const auto computing = [](const RankWork& row) {
      return static_cast<double>(row.computing->ns());
    };
    const RankWork& late = work_.ranks[rank];
    const double usual = Usual(computing);
    if (usual <= 0 || !late.computing) return {.cause = LateCause::kUnknown};
    const double longer = computing(late) / usual - 1;
    if (computing(late) - usual < kHalf * PerStep(waits_.ranks[rank].caused)) {
      return {LateCause::kLateStart,
              fmt::format("Rank {} computes {} the median rank, which does not explain its "
                          "lateness: its host, data loader or network makes it start late.",
                          NumberOf(rank),
                          longer > kAlike    ? fmt::format("{:.3g} times as long as", 1 + longer)
                          : longer < -kAlike ? "for less time than"
                                             : "as long as")};
    }
    const std::string times =
        fmt::format("Rank {} computes {:.3g} times as long", NumberOf(rank), 1 + longer);
    if (!late.work) {
      return {LateCause::kUnknown,
              times +
                  " as the median rank. Its work was not recorded, so its samples or its GPU may "
                  "be the cause; record with record_shapes=True."};
    }
    const double more = *late.work / Usual([](const RankWork& row) { return *row.work; }) - 1;
    const bool has_more = more >= kHalf * longer;
    const std::string compared = fmt::format(
        "{} as the median rank, with {} ({})", times,
        std::abs(more) < kAlike ? "the same work" : fmt::format("{:.3g} times the work", 1 + more),
        InWords(work_.measure));
    if (has_more) return {LateCause::kMoreWork, compared + ": it has more to compute."};
    if (work_.measure == WorkMeasure::kFlops)
      return {LateCause::kSlowGpu, compared + ": its GPU is slower."};
    return {LateCause::kUnknown, compared +
                                     ": equal input can require more compute, so the work or the "
                                     "GPU may be the cause; record with record_shapes=True."};
  }

  std::span<const RankTimeline> ranks_;
  const JobWaits& waits_;
  const JobWork& work_;
};

}  // namespace

LateReason FindLateCause(std::span<const RankTimeline> ranks, const JobWaits& waits,
                         const JobWork& work) {
  return CauseFinder(ranks, waits, work).Find();
}

}  // namespace headroom
