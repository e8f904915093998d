// The recorded job, as scenarios query it.
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
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "sim/edit.h"
#include "sim/step_scale.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration.h"

namespace headroom {

/// A recorded job: its trace, its graph, and its plan without a profiler.
class Job {
 public:
  /// Fails if there are no steps to select, or nothing to replay.
  ///
  /// @param store  frozen; must outlive the job, like `reference`
  static Result<std::unique_ptr<Job>> Make(const TraceStore& store, const ReferenceData& reference,
                                           const AnalysisOptions& options,
                                           const Calibration& calibration);

  /// Returns the job as it would run on another GPU, for forecasts of changes there. Shares the
  /// recording with this job.
  ///
  /// @param gpu  rates by `constants`, which must outlive the returned job
  /// @param plan  this job's corrected plan with the times of that GPU
  std::unique_ptr<Job> On(const DeviceRates& gpu, const KernelConstants& constants,
                          Plan plan) const;

  const TraceStore& store() const { return store_; }
  const StepAnalysis& steps() const { return recording_->steps; }
  const Graph& graph() const { return recording_->graph; }
  /// Returns the weight of a piece in the host work before a call, in ns: its length; on the CPU,
  /// without the cost of recording.
  double WorkIn(const HostPiece& piece) const;
  /// False for a recording of operators on the CPU alone.
  bool HasGpuWork() const { return recording_->has_gpu_work; }
  /// Fails with kNoAnswer, and a remedy, if the job has no GPU work.
  Status RequireGpuWork() const;
  /// Returns the recorded number of the step that launched or called a task; nullopt outside steps.
  std::optional<std::int64_t> StepNumberOf(TaskIndex task) const;
  const Attribution& attribution() const { return recording_->attribution; }
  /// Specification of the GPU; nullptr if the GPU is unknown or if there are several kinds.
  const DeviceSpec* device() const { return device_ ? &*device_ : nullptr; }

  /// Rates of that GPU for the kernel models; nullptr if the GPU is unknown or lacks figures.
  const DeviceRates* rates() const { return rates_ ? &*rates_ : nullptr; }
  /// Constants of the kernel models. Requires rates().
  const KernelConstants& kernel_constants() const { return *kernel_constants_; }

  const Calibration& calibration() const { return calibration_; }
  /// Half-width of the uncertainty of all corrected host time, as a share.
  double host_error() const { return host_error_; }

  /// Sets the step time that forecasts report, if `steps` have one. `steps` may include steps
  /// outside this job. Without a step time, a step takes as long as its replay.
  ///
  /// @param corrected  step time without the profiler; nullopt to use this job's replay
  void SetStepTime(const Steps& steps, std::optional<MsInterval> corrected = {});
  std::optional<DurationNs> step_time() const { return step_time_; }
  const std::optional<MsInterval>& corrected_step_ms() const { return corrected_step_ms_; }
  const StepScale& step_scale() const { return step_scale_; }
  /// Standard error of the step time, as a share of it.
  double step_error() const { return step_error_; }

  /// Scales the host's time so that a step takes `step_ms` without the profiler. Returns false if
  /// the GPU limits the step, so that the step does not depend on the host. Fails as
  /// FitToMeasuredStep() does.
  Result<bool> CalibrateTo(double step_ms);

  const Plan& recorded() const { return recording_->plan; }
  const Plan& corrected() const { return corrected_; }

  const KernelClass& ClassOf(TaskIndex gpu_task) const;
  /// Returns true for a collective's kernel. Also works for tasks outside the graph.
  bool IsCollective(GpuTaskId task) const;
  HostRoles RolesOf(HostEventId event) const;
  /// Finds where the loop gets its batch from a data loader without annotations.
  UnmarkedLoading FindLoading() const {
    return FindUnmarkedLoading(store_, recording_->names, recording_->attribution,
                               recording_->steps);
  }
  /// Cost of an operator; nullptr if unknown.
  const OperatorCost* CostOf(HostEventId op) const { return recording_->costs.Of(op); }
  /// Recorded shapes; nullptr if they were not recorded or are damaged.
  const OperatorCall* CallOf(HostEventId op) const { return recording_->costs.CallOf(op); }
  /// Name of a task's kernel or call.
  std::string_view NameOf(TaskIndex task) const;
  /// Context in which a task was launched or called.
  const HostContext& ContextOf(TaskIndex task) const;
  /// The call that launched a GPU task; kNoTask for an orphan.
  TaskIndex LaunchOf(TaskIndex gpu_task) const { return recording_->launch_of[gpu_task]; }
  /// Number of GPU tasks that a call launched.
  std::int64_t LaunchedBy(TaskIndex call) const { return recording_->launched_by[call]; }

 private:
  /// The recording, regardless of the GPU.
  struct Recording {
    Recording(const TraceStore& store, const ReferenceData& reference)
        : names(store, reference), costs(store), attribution(store, names, costs) {}

    NameFacts names;      ///< Remembers what it was asked.
    OperatorCosts costs;  ///< Remembers what it was asked.
    Attribution attribution;
    StepAnalysis steps;
    Graph graph;
    bool has_gpu_work = false;
    Plan plan;
    std::vector<TaskIndex> launch_of;
    std::vector<std::int64_t> launched_by;
  };

  Job(const TraceStore& store, const ReferenceData& reference, const Calibration& calibration)
      : store_(store),
        recording_(std::make_shared<Recording>(store, reference)),
        calibration_(calibration) {}
  Job(const Job&) = default;  ///< On() replaces the pointers of the copied rates.
  /// Removes the cost of recording from the plan, and converts host time to the host's normal
  /// speed.
  void Correct();
  void IndexLaunches();

  const TraceStore& store_;
  std::shared_ptr<Recording> recording_;
  const Calibration calibration_;
  double host_error_ = 0;
  Plan corrected_;
  std::optional<DurationNs> step_time_;
  std::optional<MsInterval> corrected_step_ms_;
  StepScale step_scale_;
  double step_error_ = 0;
  std::optional<DeviceSpec> device_;  ///< Specification of the GPU with the calibration's shares.
  std::optional<KernelConstants> kernel_constants_;
  std::optional<DeviceRates> rates_;  ///< Refers to `device_` and `kernel_constants_`.
};

}  // namespace headroom
