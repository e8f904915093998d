// Forecasts: a scenario's step time, with an interval and a reason.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/report.h"
#include "base/wanted.h"
#include "sim/schedule.h"
#include "whatif/memory/memory_deltas.h"
#include "whatif/scenarios/scenario.h"
#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {

/// Interval of a step time.
using StepInterval = MsInterval;

/// Uncertainties of the inputs, as relative half-widths.
struct Uncertainty {
  double host = 0;    ///< All host time: the cost of recording, and the state of the machine.
  double gpu = 0.01;  ///< Recorded GPU times.
  /// Step time: the standard error of the recorded mean, and the deviation of the replay from it.
  double steps = 0;
};

/// Largest accepted error of the replay of the unchanged job, in percent. Beyond it, forecasts
/// abstain, because they would have the same error.
inline constexpr double kMaxReplayErrorPct = 1;

/// Relative errors of a replay of the unchanged job against the recorded steps.
struct ReplayError {
  double error = 0;     ///< Error in the steady state, or of one pass (docs/engine.md).
  double of_queue = 0;  ///< The steady-state error if `error` is of one pass, else 0.

  bool Holds() const { return 100 * std::abs(error) <= kMaxReplayErrorPct; }
};

/// REQUIRES: the recorded plan has no channels.
ReplayError MeasureReplay(const Job& job, Replayer& replayer);

/// The unchanged job.
struct Baseline {
  double traced_step_ms = 0;  ///< The report's step time, recorded with the profiler.
  /// Median length of the complete steps; nullopt if the trace marks no steps.
  std::optional<double> marked_step_ms;
  /// Step time of the replay. An error of more than 1 % means that the graph lacks an edge.
  double replay_step_ms = 0;
  double replay_error_pct = 0;
  StepInterval corrected;    ///< Step time without the profiler; at most the traced step.
  double host_limit_ms = 0;  ///< Step time if every GPU task were instantaneous.
  double gpu_limit_ms = 0;   ///< Step time if the host were infinitely fast.
  bool has_gpu_work = true;  ///< False for a job on the CPU, which the host alone limits.
  /// Notes on the recorded steps, with a remedy; empty if there are none. Example: nothing marks
  /// the steps, so the whole recording counts as one. Also names omitted or missing parts.
  std::string steps_note;

  bool ReplayHolds() const { return std::abs(replay_error_pct) <= kMaxReplayErrorPct; }
  void AlsoNote(const std::string& note) {
    if (!note.empty()) steps_note += (steps_note.empty() ? "" : "; ") + note;
  }
};

/// Step time if only the host, or only the GPU, limits it; in ms.
struct StepLimits {
  double host_ms = 0;  ///< Step time if every GPU task and transfer were instantaneous.
  double gpu_ms = 0;   ///< Step time if the host were infinitely fast and transfers instantaneous.
  double exposed_ms = 0;    ///< Additional step time due to transfers on channels.
  double transfers_ms = 0;  ///< Time of all transfers on channels, per step.
};

struct Forecast {
  std::string name;
  bool applies = true;
  Abstention abstention = Abstention::kUnknown;  ///< Only if it does not apply.
  StepInterval step_ms;
  double speedup = 1;   ///< Corrected step / forecast.
  double saves_ms = 0;  ///< Corrected step - forecast.
  std::string why;
  Validity validated = Validity::kNo;
  /// True if `step_ms.mid` is only the best case: the scenario may have removed start-up work,
  /// which no real change removes. The amount of start-up work is unknown, so the interval extends
  /// to the unchanged step.
  bool at_best = false;
  bool is_upper_bound = false;  ///< A real change gains at most this.
  std::optional<std::int64_t> memory_delta_bytes;
  EditCounts changed;
  double work = 1;     ///< Work per step, relative to the recorded step.
  double samples = 1;  ///< Samples per step, relative to the recorded step.
  /// Rule that sets the interval from earlier scores on this machine; nullopt if there are too few
  /// scores.
  struct ByScores {
    std::int64_t scores = 0;
    double factor = 1;  ///< Factor on the interval's half-widths.
  };
  std::optional<ByScores> interval_rule;
  std::optional<BatchCurve> batch_curve;  ///< Only for a change of the batch size.
  StepLimits limits;
};

/// Makes an edit, as ApplyAll() does for scenarios.
using Change = std::function<Effect(Edit& edit)>;

/// The scenarios that need no value from the user.
struct Ranking {
  std::vector<Forecast> applying;    ///< Sorted by savings.
  std::vector<Forecast> abstaining;  ///< Sorted in catalogue order; `why` gives the reason.
};

/// Forecasts many changes of one job. Reuses the replay's memory.
class Forecaster {
 public:
  explicit Forecaster(const Job& job);

  const Baseline& baseline() const { return baseline_; }
  /// @param name  the scenario as the user wrote it
  Forecast Run(std::string name, const std::vector<ScenarioCall>& calls);
  /// The same for any change, without a curve over batch sizes.
  Forecast Run(std::string name, const Change& change);
  /// Returns only the step time after a change, in ms; nullopt if the change does not apply.
  std::optional<double> StepMsWith(const Change& change);
  /// Forecasts all changes of the catalogue that need no value from the user. Sorts the changes
  /// that apply by savings.
  ///
  /// @param is_wanted  asked before each change; once it returns false, the ranking ends
  Ranking Rank(const IsWanted& is_wanted = AlwaysWanted);
  /// Returns the plan of the last Run() that applied.
  const EditedPlan& last_plan() const { return edited_; }
  /// Returns the reason why all forecasts of the job abstain; empty if they do not.
  std::string WhyNone() const;

  /// Returns the time that an edit takes off the corrected step, in ms. Uncertainties of the host
  /// and the GPU shift both steps equally. Only the edited times can be wrong independently.
  ///
  /// @param changed_error  half-width, as a share, of the GPU times that the edit changes
  MsInterval SavesOf(const EditedPlan& edited, double changed_error);

 private:
  double StepOf(const Plan& plan);
  /// Returns the step's interval: replays with host time, recorded GPU times and changed GPU times
  /// at both ends of their ranges.
  StepInterval IntervalOf(const Plan& plan, const std::vector<bool>& changed, double changed_error,
                          double transfer_error);
  /// Widens the interval to cover other assumptions about the graph (whatif/graph_uncertainty.h).
  void WidenByGraphUncertainty(const EditedPlan& edited, StepInterval& step);
  StepLimits LimitsOf(const Plan& plan, double step_ms);
  /// Adds the micro-batches before the last to a forecast of the last.
  void AddMicroBatches(const EditedPlan& each, double batches, const Effect& effect,
                       Forecast& forecast);
  std::string Explain(const Forecast& forecast, double work) const;
  /// The edited job before the replay.
  struct Attempt {
    Effect effect;  ///< If the effect does not apply, all other members are void.
    EditedPlan edited;
    /// Plan of a micro-batch before the last; nullopt if the step has one micro-batch.
    std::optional<EditedPlan> before_last = {};
    EditCounts changed;
    std::optional<MemoryDelta> memory;  ///< nullopt if unknown.
  };
  Attempt Try(const Change& change);
  /// Returns the time of the step with all its micro-batches.
  double StepOf(const Attempt& attempt);
  Change ChangeOf(const std::vector<ScenarioCall>& calls) const;
  /// Returns step time and memory at batch sizes around those of the job and of the combination;
  /// nullopt if the combination does not set a batch size.
  std::optional<BatchCurve> CurveOf(const std::vector<ScenarioCall>& calls);
  /// @param recorded  samples per step of the unchanged job
  std::optional<BatchPoint> PointOf(std::vector<ScenarioCall> calls, double recorded,
                                    std::int64_t samples);

  const Job& job_;
  MemoryDeltas memory_;
  Uncertainty uncertainty_;
  /// The corrected step with host and GPU at either end of their uncertainty.
  double fast_ms_ = 0, slow_ms_ = 0;
  Replayer replayer_;
  Baseline baseline_;
  EditedPlan edited_;
  double inferred_ms_ = 0;  ///< Time of the corrected step that inferred waits cause.
};

}  // namespace headroom
