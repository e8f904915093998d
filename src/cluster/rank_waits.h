// Who waits for whom in a job of several ranks: the culprit, not its victims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cluster/rank_alignment.h"

namespace headroom {

/// Of one rank, over all matched collectives.
struct RankWaits {
  DurationNs waited;      ///< For others, in collectives.
  DurationNs caused;      ///< By which it came behind the median of the others, where it came last.
  std::int64_t last = 0;  ///< Collectives at which it was the last, by more than is uncertain.
  std::int64_t culprit = 0;  ///< Steps that lost most by it.
};

/// Collectives of one kind, communicator and size.
struct CollectiveClass {
  std::string group, kind;
  std::optional<double> bytes;
  std::int64_t count = 0;
  std::int64_t ranks = 0;    ///< Whose parts are known.
  std::int64_t members = 0;  ///< Of the communicator; `ranks` where it is not told.
  DurationNs wait;           ///< Mean, from the first arrival to the last.
  DurationNs transfer;       ///< Mean, from the last arrival to the end.
  DurationNs exposed;        ///< Mean over ranks, of wait and transfer, while nothing computed.
  /// Bytes over `transfer`, and what the links carried of them (nccl-tests' bus bandwidth); GB/s.
  std::optional<double> algorithm_gbs, bus_gbs;
};

enum class StragglerPattern : std::uint8_t {
  kNone,       ///< No rank came last by more than is uncertain, for a share of time that counts.
  kRecurrent,  ///< One rank, in most steps.
  kRotating,   ///< Another one each time.
  kOnce,       ///< In one step alone: whether it recurs cannot be told.
};

struct JobWaits {
  std::vector<RankWaits> ranks;          ///< By rank's index.
  std::vector<CollectiveClass> classes;  ///< Longest first.
  StragglerPattern pattern = StragglerPattern::kNone;
  std::optional<std::size_t> straggler;  ///< Of kRecurrent and kOnce; index of the rank.
  DurationNs lost;                       ///< Of all steps: time by which last ranks came behind.
  std::int64_t steps = 0;                ///< In which matched collectives lie.
  double lost_share = 0;                 ///< Of the time of those steps.
  DurationNs uncertainty;                ///< Largest of the clocks that were aligned.
};

/// From this share of the steps' time on, waiting for the last is worth a name.
inline constexpr double kWorthNaming = 0.01;
/// Of the steps that lose by anybody: a straggler that holds so many is recurrent.
inline constexpr double kRecurrentShare = 2.0 / 3;

/// A rank that comes last by less than twice the clocks' uncertainty is not said to be last.
JobWaits MeasureWaits(std::span<const RankTimeline> ranks, const Alignment& alignment);

}  // namespace headroom
