// What another loader setting would buy: the demands of a recorded loader, changed and simulated.
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

/// A change to a loader. What is not set stays as it was recorded.
struct LoadingChange {
  std::optional<std::int32_t> workers, prefetch;
  std::optional<std::int64_t> batch_size;
  std::optional<bool> pin;  ///< A thread copies batches to pinned memory.
  /// Share of the samples, 0 to 1, that are kept in memory as they leave the dataset.
  std::optional<double> cached;
  /// Share of the file reads that memory answers: what is blocked in a batch shrinks by it.
  std::optional<double> cached_files;
  std::optional<double> storage_speed;  ///< All that is blocked takes 1 / so long; above 0.
  std::string stage;        ///< A stage that becomes `stage_factor` times as fast; empty: none.
  double stage_factor = 1;  ///< Above 0.
  std::optional<double> cores;
  /// How many workers read at once before they slow each other down; see Machine.
  std::optional<double> storage_parallelism;
  /// The loop's own work in a step takes this many times as long (a GPU of another speed, a
  /// changed model).
  double step_factor = 1;
};

/// Reads "workers=4,prefetch=2,cached=50%,stage=Decode:2", each key once; "" changes nothing. Usage
/// error with the keys where it cannot be read.
Result<LoadingChange> ParseLoadingChange(std::string_view text);

/// The keys of ParseLoadingChange, for help and messages.
std::string_view LoadingChangeKeys();

/// What a recorded loader takes of cores, storage and loop, ready to be simulated.
struct LoadingModel {
  std::vector<BatchDemand> batches;
  std::vector<StepDemand> steps;
  LoaderSetting setting;
  Machine machine;
  std::int64_t batch_size = 0;              ///< Samples; 0: not known.
  std::optional<double> memory_bytes = {};  ///< That batches may take; none: not known.
  DurationNs period;                        ///< From step to step, as recorded.
  DurationNs wait;                          ///< For a batch, as recorded.
  /// Of a step, copies to the device that nothing hides; none: no GPU work was recorded.
  std::optional<DurationNs> transfer;
  DurationNs step_doubt;          ///< Steps may take so much less or more.
  DurationNs pickling_cpu;        ///< Of a worker, a batch: to pack it, to pass it on.
  bool pickling_guessed = false;  ///< And the receive time: recorded without workers.
  bool machine_guessed = false;   ///< The number of cores is not recorded.
  bool sharing_guessed = false;   ///< How much busy threads slow each other down.
  bool storage_guessed = false;   ///< Blocked time may be latency or bandwidth.
};

/// No answer where too little was recorded (fewer than 16 batches or steps).
///
/// @param quota_cores  of the control group, where one is recorded
Result<LoadingModel> ModelLoading(const LoaderProfile& profile, std::optional<double> quota_cores);

/// The model with a change made. Usage where the change makes no sense for it (a stage that was not
/// recorded, samples of an unknown batch size).
Result<LoadingModel> WithChange(const LoadingModel& model, const LoaderProfile& profile,
                                const LoadingChange& change);

/// Periods and what makes them, for a recorded and a changed setting.
struct LoadingOutcome {
  SimulatedRun run;                            ///< As simulated, not corrected.
  double mid_ms = 0, low_ms = 0, high_ms = 0;  ///< A step, from step to step.
  double wait_ms = 0;                          ///< Of `mid_ms`, for a batch.
  double samples_per_s = 0;                    ///< 0: the batch size is not known.
};

/// Simulates models of one recorded loader. Forecasts are relative: what the simulation of the
/// recorded setting is off by, they are corrected by, and half of it (of its logarithm) widens
/// their intervals.
class LoadingForecaster {
 public:
  /// Usage as SimulateLoading().
  static Result<LoadingForecaster> Make(const LoadingModel& recorded);

  /// Recorded over simulated period, of the recorded setting.
  double correction() const { return correction_; }
  /// The period alone, which takes a fraction of the time.
  Result<double> MidMs(const LoadingModel& changed) const;
  /// The period with an interval that covers sampling, the model's own error and what was guessed.
  Result<LoadingOutcome> Run(const LoadingModel& changed) const;

 private:
  explicit LoadingForecaster(LoadingModel recorded) : recorded_(std::move(recorded)) {}

  LoadingModel recorded_;
  double correction_ = 1;
};

}  // namespace headroom
