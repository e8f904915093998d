// Forecasts another loader setting: changes the demands of a recorded loader and simulates them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "loader/loader_profile.h"
#include "loader/queue_simulation.h"

namespace headroom {

/// A change to a loader. Unset members keep the recorded value.
struct LoadingChange {
  std::optional<std::int32_t> workers, prefetch;
  std::optional<std::int64_t> batch_size;
  std::optional<bool> pin;  ///< A thread copies batches to pinned memory.
  /// Share of the samples, 0 to 1, that remain in memory as the dataset returns them.
  std::optional<double> cached;
  /// Share of the file reads served from memory. Reduces the blocked time of a batch by this share.
  std::optional<double> cached_files;
  std::optional<double> storage_speed;  ///< Factor by which blocked time becomes shorter; above 0.
  std::string stage;        ///< A stage that becomes `stage_factor` times as fast; empty for none.
  double stage_factor = 1;  ///< Speedup of `stage`; above 0.
  std::optional<double> cores;
  /// Number of workers that can read at once at full speed; see Machine.
  std::optional<double> storage_parallelism;
  /// Factor on the loop's own work per step, e.g. for a GPU of another speed or a changed model.
  double step_factor = 1;
};

/// Parses "workers=4,prefetch=2,cached=50%,stage=Decode:2", with each key at most once; "" changes
/// nothing. Fails with kUsage and lists the keys if `text` is invalid.
Result<LoadingChange> ParseLoadingChange(std::string_view text);

/// Returns the keys of ParseLoadingChange() for help and messages.
std::string_view LoadingChangeKeys();

/// Demands of a recorded loader on cores, storage and loop, for the simulation.
struct LoadingModel {
  std::vector<BatchDemand> batches;
  std::vector<StepDemand> steps;
  LoaderSetting setting;
  Machine machine;
  std::int64_t batch_size = 0;              ///< Samples; 0 if unknown.
  std::optional<double> memory_bytes = {};  ///< Memory available to batches; nullopt if unknown.
  DurationNs period;                        ///< Recorded time from step to step.
  DurationNs wait;                          ///< Recorded wait for a batch.
  /// Exposed copies to the device per step; nullopt if no GPU work was recorded.
  std::optional<DurationNs> transfer;
  DurationNs step_doubt;    ///< Uncertainty of a step's time, in both directions.
  DurationNs pickling_cpu;  ///< CPU time of a worker to pack a batch and pass it on.
  /// True if `pickling_cpu` and the receive time are guesses, because the recording had no workers.
  bool pickling_guessed = false;
  bool machine_guessed = false;  ///< True if the number of cores is a guess.
  bool sharing_guessed = false;  ///< True if the mutual slowdown of busy threads is a guess.
  /// True if it is a guess that latency, not bandwidth, causes blocked time.
  bool storage_guessed = false;
};

/// Fails with kNoAnswer if fewer than 16 batches or steps were recorded.
///
/// @param quota_cores  CPU quota of the control group, if recorded
Result<LoadingModel> ModelLoading(const LoaderProfile& profile, std::optional<double> quota_cores);

/// Returns the model with a change applied. Fails with kUsage if the change does not apply: its
/// stage was not recorded, or the batch size is unknown.
Result<LoadingModel> WithChange(const LoadingModel& model, const LoaderProfile& profile,
                                const LoadingChange& change);

/// Forecast of a setting: periods and their components.
struct LoadingOutcome {
  SimulatedRun run;                            ///< Simulated run, without correction.
  double mid_ms = 0, low_ms = 0, high_ms = 0;  ///< Time per step, from step to step.
  double wait_ms = 0;                          ///< Part of `mid_ms` that waits for a batch.
  double samples_per_s = 0;                    ///< 0 if the batch size is unknown.
};

/// Simulates models of one recorded loader. Corrects each forecast by the simulation error of the
/// recorded setting. Half of that error's logarithm widens the interval.
class LoadingForecaster {
 public:
  /// Fails with kUsage as SimulateLoading() does.
  static Result<LoadingForecaster> Make(const LoadingModel& recorded);

  /// Returns the recorded period divided by the simulated period of the recorded setting.
  double correction() const { return correction_; }
  /// Returns the period without an interval, which is much faster than Run().
  Result<double> MidMs(const LoadingModel& changed) const;
  /// Returns the period with an interval that covers sampling, the model's own error, and guesses.
  Result<LoadingOutcome> Run(const LoadingModel& changed) const;

 private:
  explicit LoadingForecaster(LoadingModel recorded) : recorded_(std::move(recorded)) {}

  LoadingModel recorded_;
  double correction_ = 1;
};

}  // namespace headroom
