// Answers `headroom predict`, for the command line and the page.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "answers/predict/job_plan.h"
#include "answers/predict/recorded_steps.h"
#include "answers/predict/render.h"
#include "base/status.h"
#include "kernels/device_rates.h"
#include "predict/gpu_models.h"
#include "predict/host_model.h"
#include "predict/operator_list.h"
#include "whatif/forecast.h"
#include "whatif/job/job.h"

namespace headroom {

/// Predicts several jobs for the same GPUs, and returns one report.
class PredictAnswer {
 public:
  /// Reads the prices and grids that `plan` names. Fails as JobPlanQuestion::Check() and
  /// JobPlan::Load() do.
  ///
  /// @param models  models of all GPUs; must outlive the returned object
  static Result<PredictAnswer> Make(const GpuModels& models, std::vector<DeviceRates> targets,
                                    JobPlanQuestion plan);

  /// Adds a recorded job. If `forecaster` has no forecasts, adds an abstention with the reason.
  /// Fails as AddRecordedStep() does.
  ///
  /// @param note    remark on the recorded steps: CalibratedJob::note
  /// @param source  recorded GPU, from SourceGpuOf()
  Status AddTrace(const Job& job, const Forecaster& forecaster, const std::string& note,
                  const DeviceRates& source, const RecordedStepQuestion& question);
  /// Adds steps from lists of operators and shapes. Fails as AddListedSteps() does.
  Status AddLists(std::span<const OperatorList> lists, std::span<const OperatorList> unchanged,
                  const std::string& path, const HostModel& host);
  /// Adds a trace that cannot be replayed, with the reason `why`.
  void AddAbstention(const std::string& trace, const std::string& why);

  /// Returns the report of all added steps.
  PredictReport Finish() &&;

 private:
  PredictAnswer(const GpuModels& models, std::vector<DeviceRates> targets, JobPlanQuestion plan)
      : models_(models), targets_(std::move(targets)), plan_(std::move(plan)) {}

  const GpuModels& models_;
  std::vector<DeviceRates> targets_;
  JobPlan plan_;
  PredictReport report_;
};

/// Fills in `ties`: for each target, the GPUs of the same workload with overlapping step intervals.
void FindTies(std::vector<PredictedTarget>& targets);

}  // namespace headroom
