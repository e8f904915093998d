// Who waits for whom in a job of several ranks: the culprit, not its victims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ranks/rank_alignment.h"

namespace headroom {

/// Of one rank, over all compared collectives.
struct RankWaits {
  DurationNs waited;  ///< For others, in collectives.
  /// By which it came behind the usual rank (the median) where it was one of the late, without
  /// what the usual rank computed meanwhile.
  DurationNs caused;
  std::int64_t last = 0;     ///< Collectives at which it was one of the late.
  std::int64_t culprit = 0;  ///< Steps that lost most by it, or nearly.
};

/// Collectives of one kind, communicator and size.
struct CollectiveClass {
  std::string group, kind;
  std::optional<double> bytes;
  std::int64_t count = 0;
  std::int64_t ranks = 0;    ///< Whose parts are known.
  std::int64_t members = 0;  ///< Of the communicator; `ranks` where it is not told.
  /// Mean, from the first arrival to the last; no time where that is below what the clocks tell.
  DurationNs wait;
  DurationNs transfer;  ///< Mean, from the last arrival (else the usual one) to the end.
  DurationNs exposed;   ///< Mean over ranks, of wait and transfer, while nothing computed.
  DurationNs hidden;    ///< The same while a kernel did.
  /// Bytes over `transfer`, and what the links carried of them (nccl-tests' bus bandwidth); GB/s.
  /// None where `transfer` is below what the clocks tell.
  std::optional<double> algorithm_gbs, bus_gbs;
};

enum class StragglerPattern : std::uint8_t {
  kNone,       ///< No rank was late by more than is uncertain, for a share of time that counts.
  kRecurrent,  ///< The same rank or ranks, in most steps.
  kRotating,   ///< Another one each time.
  kOnce,       ///< In one step alone: whether it recurs cannot be told.
};

struct JobWaits {
  std::vector<RankWaits> ranks;          ///< By rank's index.
  std::vector<CollectiveClass> classes;  ///< Longest first.
  StragglerPattern pattern = StragglerPattern::kNone;
  std::vector<std::size_t> stragglers;  ///< Of kRecurrent and kOnce; indices of the ranks.
  std::string straggler_host;           ///< Of all of those; empty: not told, or of several.
  /// Time of the steps by which a usual rank's collectives were exposed for longer because of a
  /// late one, whichever: what the job loses. Of collectives in no step where there are no steps.
  DurationNs lost;
  std::int64_t steps = 0;            ///< In which compared collectives lie.
  std::optional<double> lost_share;  ///< Of the time of those steps; none: of no steps.
  std::int64_t other_kinds = 0;      ///< Joined, but of kinds in which not all wait for all.
  DurationNs uncertainty;            ///< Largest of the clocks that were aligned.
};

/// From this share of the steps' time on, waiting for the last is worth a name.
inline constexpr double kWorthNaming = 0.01;
/// Of the steps that lose by anybody: a straggler that holds so many is recurrent.
inline constexpr double kRecurrentShare = 2.0 / 3;

/// Of the collectives that all leave together. The usual rank is the median one; late are those
/// that come behind it by more than half of what the last does, if that is more than twice the
/// clocks' uncertainty: several may be equally late.
/// Lost is of a wait what the usual rank's collective exposes: without the late, the transfer would
/// have run beside the same computing. What a rank waited in the collective of
/// another communicator just before is not its own lateness.
JobWaits MeasureWaits(std::span<const RankTimeline> ranks, const Alignment& alignment);

}  // namespace headroom
