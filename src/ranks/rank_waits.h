// Waits between the ranks of a job: finds the rank that causes them, not the ranks that suffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ranks/rank_alignment.h"

namespace headroom {

/// Figures of one rank over all compared collectives.
struct RankWaits {
  DurationNs waited;  ///< Total time that it waited for others in collectives.
  /// Total time by which it arrived after the median rank, over the collectives at which it was
  /// late. Excludes time in which the median rank computed, and the additional time in which other
  /// ranks blocked it.
  DurationNs caused;
  std::int64_t last = 0;  ///< Number of collectives at which it was late.
  /// Number of steps that lose at least kWorthNaming in which it caused at least 90 % of the
  /// largest delay by a rank.
  std::int64_t culprit = 0;
};

/// Figures of one rank in one step.
struct RankStepWaits {
  std::size_t rank = 0;
  std::int64_t step = 0;
  DurationNs waited, caused;  ///< As in RankWaits.
};

/// The time that one rank waited for another: the last to arrive at a collective.
struct RankPairWaits {
  std::size_t waiting = 0, last = 0;  ///< Indices of the ranks.
  DurationNs waited;
  std::int64_t collectives = 0;  ///< Number of collectives at which it waited.
};

/// Collectives of one kind, communicator and size.
struct CollectiveClass {
  std::string group, kind;
  std::optional<double> bytes;
  std::int64_t count = 0;
  std::int64_t ranks = 0;    ///< Number of ranks that recorded it.
  std::int64_t members = 0;  ///< Members of the communicator; `ranks` if not recorded.
  /// Mean time from the first arrival to the last. Arrivals that differ by less than the clocks'
  /// uncertainty count as 0.
  DurationNs wait;
  /// Mean time from the last arrival to the end; from the median arrival if `wait` is uncertain.
  DurationNs transfer;
  DurationNs exposed;  ///< Mean over ranks of wait and transfer while no compute kernel ran.
  DurationNs hidden;   ///< Mean over ranks of wait and transfer while a compute kernel ran.
  /// GB/s: bytes over `transfer`, and the bus bandwidth of nccl-tests. nullopt if `transfer` is
  /// below the clocks' uncertainty.
  std::optional<double> algorithm_gbs, bus_gbs;
};

enum class StragglerPattern : std::uint8_t {
  kNone,       ///< No rank was late by more than the uncertainty, for a significant share of time.
  kRecurrent,  ///< The same rank or ranks in most steps.
  kRotating,   ///< A different rank each time.
  kOnce,       ///< Late in one step only; it is unknown if that recurs.
};

struct JobWaits {
  std::vector<RankWaits> ranks;               ///< Indexed by rank.
  std::vector<RankStepWaits> steps_of_ranks;  ///< Sorted by step, then rank. Excludes collectives
                                              ///< outside steps, and ranks that did not wait.
  std::vector<RankPairWaits> pairs;           ///< Longest first.
  std::vector<CollectiveClass> classes;       ///< Longest first.
  StragglerPattern pattern = StragglerPattern::kNone;
  std::vector<std::size_t> stragglers;  ///< Indices of the ranks for kRecurrent and kOnce.
  /// Host of all stragglers; empty if unknown or if they are on several hosts.
  std::string straggler_host;
  /// Time that the job loses to late ranks: the additional exposed time of the median rank's
  /// collectives in the steps. Without steps, counts the collectives outside steps.
  DurationNs lost;
  std::int64_t steps = 0;            ///< Number of steps with compared collectives.
  std::optional<double> lost_share;  ///< Share of the time of those steps; nullopt without steps.
  /// Matched collectives of kinds in which not every rank waits for all others.
  std::int64_t other_kinds = 0;
  DurationNs uncertainty;  ///< Largest uncertainty of the aligned clocks.
};

/// Lost time below this share of the step time is not reported.
inline constexpr double kWorthNaming = 0.01;
/// A straggler is recurrent if it is a culprit in at least this share of the steps that lose
/// at least kWorthNaming.
inline constexpr double kRecurrentShare = 2.0 / 3;

/// Uses the collectives that all ranks leave together. A rank is late if it arrives after the
/// median rank by more than half of the last rank's delay. That delay must exceed twice the clocks'
/// uncertainty. Several ranks may be late together.
///
/// The lost time of a wait is the exposed part of the median rank's collective. Without the late
/// ranks, the transfer would overlap the same compute. Since the last collective of the same
/// communicator in the step, a rank may have waited longer than the median rank for ranks of other
/// communicators, or for neighbours. This difference does not count as its own lateness.
JobWaits MeasureWaits(std::span<const RankTimeline> ranks, const Alignment& alignment);

}  // namespace headroom
