// Predicts the steps of recorded jobs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "answers/predict/render.h"
#include "base/status.h"
#include "predict/energy.h"
#include "predict/gpu_models.h"
#include "predict/memory_timeline.h"
#include "whatif/forecast.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

struct RecordedStepQuestion {
  std::string trace;          ///< Path of the trace.
  std::string workload = {};  ///< Name of the workload; empty if it is the only one.
  double host_factor = 1;     ///< Host speed of the target machine, relative to the recorded one.
  bool batch_curve = false;
  std::optional<RecordedMemory> timeline = {};
  bool only_current = false;              ///< Only IsCurrentGpu() and the recorded GPU.
  std::vector<ScenarioCall> change = {};  ///< Made on each target; empty for none.
};

/// Returns the GPU of a trace. Fails with kNoAnswer if the trace does not identify the GPU.
///
/// @param from  the user's name of the GPU; empty uses the trace. Fails with kUsage if the trace
/// names another GPU.
Result<DeviceRates> SourceGpuOf(const GpuModels& models, const Job& job, const std::string& trace,
                                const std::string& from);

/// Adds the job and its step on each target. Fails with kNoAnswer if the trace lacks data.
///
/// @param baseline   Forecaster::baseline() of the job
/// @param source     recorded GPU, from SourceGpuOf()
/// @param whole_job  true if hours are requested, which requires marked steps
/// @param machines   machines with several GPUs, to which a job of one GPU may be scaled out
Status AddRecordedStep(const Job& job, const Baseline& baseline, const GpuModels& models,
                       const DeviceRates& source, std::span<const DeviceRates> targets,
                       const RecordedStepQuestion& question, bool whole_job,
                       std::span<const PlannedMachine> machines, PredictReport& report);

/// Returns the modelled energy of `step`. The range of the step adds to the error of the energy.
///
/// @param measured_over_model  MeasuredOverModel() of the recorded GPU; nullopt if its energy was
/// not measured
std::optional<StepEnergy> EnergyOn(const DeviceRates& rates, const StepActivity& activity,
                                   const PredictedMs& step, const KernelConstants& constants,
                                   std::optional<double> measured_over_model = std::nullopt);

}  // namespace headroom
