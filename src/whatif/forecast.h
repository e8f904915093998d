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
#include "whatif/scenarios/batch_curve.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// Of a step's time.
using StepInterval = MsInterval;

/// What is not known exactly, as half-widths and shares.
struct Uncertainty {
  double host = 0;    ///< Of all host time: what recording cost, and the state of the machine.
  double gpu = 0.01;  ///< Of recorded GPU times.
  /// Of a step: the standard error of the recorded mean, and how far the replay is from that mean.
  double steps = 0;
};

/// Forecasts abstain if the replay of the unchanged job is off by more, in percent: they would miss
/// what it misses.
inline constexpr double kMaxReplayErrorPct = 1;

/// Relative errors of a replay of the unchanged job against the recorded steps.
struct ReplayError {
  double error = 0;     ///< In the steady state, or of one pass (docs/engine.md).
  double of_queue = 0;  ///< The steady-state error if `error` is of one pass, else 0.

  bool Holds() const { return 100 * std::abs(error) <= kMaxReplayErrorPct; }
};

/// REQUIRES: the recorded plan has no channels.
ReplayError MeasureReplay(const Job& job, Replayer& replayer);

/// The job as it is.
struct Baseline {
  double traced_step_ms = 0;  ///< The report's step time, recorded with the profiler.
  /// The median length of the whole steps. None: nothing tells steps apart.
  std::optional<double> marked_step_ms;
  double replay_step_ms = 0;  ///< Replayed: an error of 1 % says that an edge is missing.
  double replay_error_pct = 0;
  StepInterval corrected;    ///< Without the profiler; at most the traced one.
  double host_limit_ms = 0;  ///< Were every GPU task done in no time.
  double gpu_limit_ms = 0;   ///< Were the host infinitely fast.
  /// What one should know of the recorded steps, and the remedy: that nothing marks them, so that
  /// the whole recording counts as one; what was left out or is missing. Empty: nothing.
  std::string steps_note;

  bool ReplayHolds() const { return std::abs(replay_error_pct) <= kMaxReplayErrorPct; }
  void AlsoNote(const std::string& note) {
    if (!note.empty()) steps_note += (steps_note.empty() ? "" : "; ") + note;
  }
};

/// What a step needs of each by itself; ms.
struct StepLimits {
  double host_ms = 0;       ///< Were every GPU task done in no time, and nothing transferred.
  double gpu_ms = 0;        ///< Were the host infinitely fast, and nothing transferred.
  double exposed_ms = 0;    ///< By which the step is longer for its transfers on channels.
  double transfers_ms = 0;  ///< Length of all transfers on channels.
};

struct Forecast {
  std::string name;
  bool applies = true;
  StepInterval step_ms;
  double speedup = 1;   ///< Corrected step / forecast.
  double saves_ms = 0;  ///< Corrected step - forecast.
  std::string why;
  Validity validated = Validity::kNo;
  /// The middle is the best case: how much of the gain is start-up, which stays, is not known, and
  /// the interval reaches to the unchanged step.
  bool at_best = false;
  std::optional<std::int64_t> memory_delta_bytes;
  EditCounts changed;
  /// By earlier scores on this machine, which set the interval; none: too few.
  struct ByScores {
    std::int64_t scores = 0;
    double factor = 1;  ///< Of the interval's half-widths.
  };
  std::optional<ByScores> interval_rule;
  std::optional<BatchCurve> batch_curve;  ///< Of a change of the batch size; else none.
  StepLimits limits;
};

/// Makes an edit, as ApplyAll() does for scenarios.
using Change = std::function<Effect(Edit& edit)>;

/// The scenarios that need no value of the user's.
struct Ranking {
  std::vector<Forecast> applying;  ///< By what they save.
  std::vector<Forecast>
      abstaining;  ///< In the catalogue's order; their `why` says what is missing.
};

/// Asks one job many questions. Keeps its replay's memory between them.
class Forecaster {
 public:
  explicit Forecaster(const Job& job);

  const Baseline& baseline() const { return baseline_; }
  /// @param name  as the user wrote the scenario
  Forecast Run(std::string name, const std::vector<ScenarioCall>& calls);
  /// The same for any change, without a curve over batch sizes.
  Forecast Run(std::string name, const Change& change);
  /// The step alone that a change makes, in ms; nullopt where it does not apply.
  std::optional<double> StepMsWith(const Change& change);
  /// All changes of the catalogue that apply and need no value of the user's, by what they save.
  ///
  /// @param is_wanted  asked before each; once it says no, the ranking is of those so far
  Ranking Rank(const IsWanted& is_wanted = AlwaysWanted);
  /// The plan of the last Run() that applied.
  const EditedPlan& last_plan() const { return edited_; }
  /// Why all forecasts of the job abstain; empty: they do not.
  std::string WhyNone() const;

  /// What an edit takes off the corrected step, in ms. What is not known of the host and the GPU
  /// moves both steps alike; only what the edit changed may be wrong by itself.
  ///
  /// @param changed_error  half-width, as a share, of the GPU times that it changed
  MsInterval SavesOf(const EditedPlan& edited, double changed_error);

 private:
  double StepOf(const Plan& plan);
  /// The step's interval: all host time, recorded and changed GPU times at both ends of what they
  /// may be.
  StepInterval IntervalOf(const Plan& plan, const std::vector<bool>& changed, double changed_error,
                          double transfer_error);
  /// @param work  that a step gets done, in what it did before
  /// Also holds what the step were if the graph's guesses are none (whatif/graph_uncertainty.h).
  void WidenByGraphUncertainty(const EditedPlan& edited, StepInterval& step);
  StepLimits LimitsOf(const Plan& plan, double step_ms);
  std::string Explain(const Forecast& forecast, double work) const;
  /// What a combination makes of the job, before it is replayed.
  struct Attempt {
    Effect effect;  ///< Where it does not apply, all else is void.
    EditedPlan edited;
    EditCounts changed;
    std::optional<MemoryDelta> memory;  ///< None: not known.
  };
  Attempt Try(const Change& change);
  Change ChangeOf(const std::vector<ScenarioCall>& calls) const;
  /// Step and memory over the batch sizes around those of the job and of a combination that sets
  /// one; nullopt where it sets none.
  std::optional<BatchCurve> CurveOf(const std::vector<ScenarioCall>& calls);
  /// @param recorded  samples per step of the job as it is
  std::optional<BatchPoint> PointOf(std::vector<ScenarioCall> calls, double recorded,
                                    std::int64_t samples);

  const Job& job_;
  MemoryDeltas memory_;
  Uncertainty uncertainty_;
  double fast_ms_ = 0, slow_ms_ = 0;  ///< The corrected step where host and GPU are as far off.
  Replayer replayer_;
  Baseline baseline_;
  EditedPlan edited_;
  double inferred_ms_ = 0;  ///< Of the corrected step: by waits that are inferred.
};

}  // namespace headroom
