// Determines from a normal run's counters what limits a loader, and which setting is faster.
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
  kFetch,        ///< Workers wait for files, a network or similar.
  kPreparation,  ///< Workers compute all the time.
  kCores,        ///< Workers are runnable without a core.
  kThrottled,    ///< Workers lack cores because of their control group's quota.
  kTransfer,     ///< Exposed copies to the device cost more than the wait.
  kHandover,     ///< Batches are ready, and receiving them takes the time.
  kUnknown,
};

/// Returns a stable name for scripts: "none", "fetch", "preparation", "cores", "throttled",
/// "transfer", "handover" or "unknown".
std::string_view NameOf(LoadingBound bound);

/// A loader's loop as seen by the rest of the recording.
struct LoopView {
  DurationNs step = {};                 ///< Median step time; 0 if the members below are unknown.
  std::optional<DurationNs> wait = {};  ///< Part of `step` in which the host waits for a batch.
  /// Share of the host's wait during which the GPU is idle.
  std::optional<double> exposed_share = {};
  /// Part of `step` with copies from host to device and no kernel.
  std::optional<DurationNs> transfer = {};
  /// Mean number of CPUs that a quota of the control group withheld.
  std::optional<double> throttled_cores = {};
};

/// Means over the recorded batches and steps, without the first ones of the run.
struct LoadingSplit {
  DurationNs period, wait;  ///< Time from step to step, and its part that waits for a batch.
  double wait_share = 0;    ///< wait / period.
  /// `exposed_wait` is the part of `wait` in which the GPU idles. `transfer` is that of LoopView,
  /// per median step.
  std::optional<DurationNs> exposed_wait, transfer;
  std::optional<double> throttled_cores;
  DurationNs handover;  ///< Part of `wait` in which the loop receives a batch.
  DurationNs batch;     ///< Time to prepare one batch.
  std::optional<DurationNs> cpu, blocked, queued;  ///< Parts of `batch`.
  double ready = 0;                                ///< Batches that were ready when the loop asked.
  double workers_busy = 0;  ///< Share of the workers' time in which they prepare batches.
  DurationNs epoch_start;   ///< Additional time of an epoch's first batch.
  /// Bytes per batch: from storage, and by system calls, which the page cache can serve.
  std::optional<double> read_bytes, called_bytes;
  LoadingBound bound = LoadingBound::kUnknown;
};

LoadingSplit SplitLoading(const LoaderProfile& profile, const LoopView& view = {});

/// Returns the verdict of a trace without loader events. The bound is kNone or kTransfer. It is
/// kUnknown if the GPU waits for batches or the step is unknown.
LoadingSplit SplitLoop(const LoopView& view);

/// Sets `recorded.memory_bytes`: the memory that batches under way can use.
///
/// @param free_bytes  minimum free memory of machine and control group during the recording
void LimitMemory(const LoaderProfile& profile, std::optional<double> free_bytes,
                 LoadingModel& recorded);

/// A setting and its forecast.
struct LoadingOption {
  std::string name;  ///< The change, in the format of ParseLoadingChange().
  LoadingChange change = {};
  LoadingOutcome outcome = {};
  double memory_bytes = 0;      ///< Maximum bytes of the batches under way; 0 if unknown.
  bool exceeds_memory = false;  ///< Batches exceed the free memory, shared or total.
  bool oversubscribed = false;  ///< True if more threads want to run than the machine has cores.
};

/// Forecasts over worker counts and prefetch depths whose batches fit into memory. Contains the
/// recorded setting, settings with few workers, the best, and the cheapest within 2 % of the best.
/// The cheapest has the fewest workers, then the fewest batches under way.
struct LoadingSearch {
  std::vector<LoadingOption> options;
  std::size_t best = 0, cheapest = 0;  ///< Rows of `options`.
  LoadingOutcome ideal;                ///< Forecast if every batch were ready at once.
};

Result<LoadingSearch> SearchLoading(const LoadingModel& model, const LoaderProfile& profile,
                                    const LoadingForecaster& forecaster);

/// Returns the forecast of one change.
Result<LoadingOption> TryLoading(const LoadingModel& model, const LoaderProfile& profile,
                                 const LoadingForecaster& forecaster, std::string name,
                                 const LoadingChange& change);

}  // namespace headroom
