// What holds a loader back, from the counters of a normal run, and what setting would cure it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "loader/loader_profile.h"
#include "loader/loading_forecast.h"

namespace headroom {

enum class LoadingBound : std::uint8_t {
  kNone,         ///< The loop waits for less than 5 % of its time.
  kFetch,        ///< Workers wait for files, a network or the like.
  kPreparation,  ///< Workers compute all the time.
  kCores,        ///< Workers could compute and have no core.
  kThrottled,    ///< The same, since a quota of their control group takes the cores away.
  kTransfer,     ///< Copies to the device, which nothing hides, cost more than the wait.
  kHandover,     ///< Batches are ready, and to take them over takes its time.
  kUnknown,
};

/// Stable, for scripts: "none", "fetch", "preparation", "cores", "throttled", "transfer",
/// "handover", "unknown".
std::string_view NameOf(LoadingBound bound);

/// What the rest of a recording knows of a loader's loop.
struct LoopView {
  DurationNs step = {};                 ///< The median one; 0: none of what follows is known.
  std::optional<DurationNs> wait = {};  ///< Of it, what the host waits for a batch.
  /// Share of the host's wait during which the GPU is idle.
  std::optional<double> exposed_share = {};
  /// Of it, copies from host to device that run beside no kernel.
  std::optional<DurationNs> transfer = {};
  /// Processors that a quota of the control group held back on average.
  std::optional<double> throttled_cores = {};
};

/// Means over the batches and steps that were recorded, without the first ones of the run.
struct LoadingSplit {
  DurationNs period, wait;  ///< Of a step.
  double wait_share = 0;    ///< wait / period.
  /// Of `wait`, what the GPU feels; of a median step, what LoopView says.
  std::optional<DurationNs> exposed_wait, transfer;
  std::optional<double> throttled_cores;
  DurationNs handover;  ///< Of `wait`: what the loop itself does to take a batch over.
  DurationNs batch;     ///< To prepare one.
  std::optional<DurationNs> cpu, blocked, queued;  ///< Of `batch`.
  double ready = 0;                                ///< Batches that were there when the loop asked.
  double workers_busy = 0;  ///< Share of their time in which workers prepare batches.
  DurationNs epoch_start;   ///< What the first batch of an epoch took longer than others.
  /// Of a batch: from storage, and by calls, most of which the page cache may have answered.
  std::optional<double> read_bytes, called_bytes;
  LoadingBound bound = LoadingBound::kUnknown;
};

LoadingSplit SplitLoading(const LoaderProfile& profile, const LoopView& view = {});

/// The verdict of a trace that knows the loop alone: kNone, kTransfer, or kUnknown where the GPU
/// waits for batches, or nothing is known.
LoadingSplit SplitLoop(const LoopView& view);

/// How many bytes the batches under way may take.
///
/// @param free_bytes  least that machine and control group had left while it was recorded
void LimitMemory(const LoaderProfile& profile, std::optional<double> free_bytes,
                 LoadingModel& recorded);

/// A setting and what it would come to.
struct LoadingOption {
  std::string name;  ///< As ParseLoadingChange() reads it.
  LoadingChange change = {};
  LoadingOutcome outcome = {};
  double memory_bytes = 0;      ///< Batches that are under way at most; 0: their size is not known.
  bool exceeds_memory = false;  ///< More than there was free, in workers' shared memory or at all.
  bool oversubscribed = false;  ///< More threads want to run than there are cores.
};

/// What came of trying workers and prefetch depths: the recorded setting, few workers, the best one
/// and the cheapest (fewest workers, then fewest batches under way) within 2 % of it; of those
/// whose batches fit into memory.
struct LoadingSearch {
  std::vector<LoadingOption> options;
  std::size_t best = 0, cheapest = 0;  ///< Rows of `options`.
  LoadingOutcome ideal;                ///< Were every batch there at once.
};

Result<LoadingSearch> SearchLoading(const LoadingModel& model, const LoaderProfile& profile,
                                    const LoadingForecaster& forecaster);

/// One change, forecast.
Result<LoadingOption> TryLoading(const LoadingModel& model, const LoaderProfile& profile,
                                 const LoadingForecaster& forecaster, std::string name,
                                 const LoadingChange& change);

}  // namespace headroom
