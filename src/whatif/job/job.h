// Everything that a scenario may ask about the recorded job.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/loop/unmarked_loading.h"
#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "analysis/names/operator_costs.h"
#include "analysis/names/reference_data.h"
#include "analysis/steps/steps.h"
#include "base/status.h"
#include "cost/device_spec.h"
#include "graph/graph.h"
#include "sim/edit.h"
#include "sim/step_scale.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"

namespace headroom {

/// A recorded job: its trace, its graph, and the plan that it would follow without a profiler.
class Job {
 public:
  /// Fails where there are no steps to select, or nothing to replay.
  ///
  /// @param store  frozen; outlives the job, as does `reference`
  static Result<std::unique_ptr<Job>> Make(const TraceStore& store, const ReferenceData& reference,
                                           const AnalysisOptions& options,
                                           const Calibration& calibration);

  const TraceStore& store() const { return store_; }
  const StepAnalysis& steps() const { return steps_; }
  const Graph& graph() const { return graph_; }
  /// The trace's own number of the step in which a task was launched or called; nullopt: in none.
  std::optional<std::int64_t> StepNumberOf(TaskIndex task) const;
  const Attribution& attribution() const { return attribution_; }
  /// nullptr: unknown GPU, or several kinds.
  const DeviceSpec* device() const { return device_ ? &*device_ : nullptr; }

  const Calibration& calibration() const { return calibration_; }
  /// Half-width, as a share, of what all corrected host time may be wrong by.
  double host_error() const { return host_error_; }

  /// Sets the step time that answers give, if `steps` have one: they may be more than this job has.
  /// Without it, a step takes as long as its replay.
  ///
  /// @param corrected  without the profiler; none: by this job's replay
  void SetStepTime(const Steps& steps, std::optional<MsInterval> corrected = {});
  std::optional<DurationNs> step_time() const { return step_time_; }
  const std::optional<MsInterval>& corrected_step_ms() const { return corrected_step_ms_; }
  const StepScale& step_scale() const { return step_scale_; }
  /// Standard error of the step time, as a share of it.
  double step_error() const { return step_error_; }

  /// Takes the host to the speed for which the job takes this step without its profiler; false
  /// where the GPU paces the step, so that it tells nothing. Fails as FitToMeasuredStep() does.
  Result<bool> CalibrateTo(double step_ms);

  const Plan& recorded() const { return recorded_; }
  const Plan& corrected() const { return corrected_; }

  const KernelClass& ClassOf(TaskIndex gpu_task) const;
  /// Also of what is not in the graph.
  bool IsCollective(GpuTaskId task) const;
  HostRoles RolesOf(HostEventId event) const;
  /// Where the loop gets its batch from a loader that marks nothing.
  UnmarkedLoading FindLoading() const {
    return FindUnmarkedLoading(store_, names_, attribution_, steps_);
  }
  /// nullptr: unknown.
  const OperatorCost* CostOf(HostEventId op) const { return costs_.Of(op); }
  /// The shapes of its record; nullptr: not recorded, or damaged.
  const OperatorCall* CallOf(HostEventId op) const { return costs_.CallOf(op); }
  /// Name of a task: of the kernel or of the call.
  std::string_view NameOf(TaskIndex task) const;
  /// Where a task was launched or called.
  const HostContext& ContextOf(TaskIndex task) const;
  /// The call that launched a GPU task; kNoTask for an orphan.
  TaskIndex LaunchOf(TaskIndex gpu_task) const { return launch_of_[gpu_task]; }
  /// How many GPU tasks a call launched.
  std::int64_t LaunchedBy(TaskIndex call) const { return launched_by_[call]; }

 private:
  Job(const TraceStore& store, const ReferenceData& reference, const Calibration& calibration);
  /// Takes the plan of a recording to the host's usual speed, without the cost of recording.
  void Correct();
  void IndexLaunches();

  const TraceStore& store_;
  const Calibration calibration_;
  double host_error_ = 0;
  mutable NameFacts names_;
  mutable OperatorCosts costs_;
  Attribution attribution_;
  StepAnalysis steps_;
  Graph graph_;
  Plan recorded_, corrected_;
  std::optional<DurationNs> step_time_;
  std::optional<MsInterval> corrected_step_ms_;
  StepScale step_scale_;
  double step_error_ = 0;
  std::vector<TaskIndex> launch_of_;
  std::vector<std::int64_t> launched_by_;
  std::optional<DeviceSpec> device_;  ///< With the calibration's shares.
};

}  // namespace headroom
