// Predicts the steps of recorded jobs.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "answers/predict/render.h"
#include "base/status.h"
#include "predict/energy.h"
#include "predict/gpu_models.h"
#include "predict/memory_timeline.h"
#include "whatif/forecast.h"
#include "whatif/job/job.h"

namespace headroom {

struct RecordedStepQuestion {
  std::string trace;          ///< Its path.
  std::string workload = {};  ///< The same, where it is one of several; else empty.
  double host_factor = 1;     ///< How many times as fast the other machine's host is.
  bool batch_curve = false;
  std::optional<RecordedMemory> timeline = {};
};

/// The GPU of a trace; fails (kNoAnswer) where it does not tell.
///
/// @param from  name of the user's; empty: what the trace says. kUsage where it says another.
Result<DeviceRates> SourceGpuOf(const GpuModels& models, const Job& job, const std::string& trace,
                                const std::string& from);

/// Adds the job, and what it takes on each target. Fails (kNoAnswer) with what the trace lacks.
///
/// @param baseline   Forecaster's, of the job
/// @param source     SourceGpuOf()
/// @param whole_job  hours are asked for, so there must be steps
/// @param machines   to which a job of one GPU may be scaled out
Status AddRecordedStep(const Job& job, const Baseline& baseline, const GpuModels& models,
                       const DeviceRates& source, std::span<const DeviceRates> targets,
                       const RecordedStepQuestion& question, bool whole_job,
                       std::span<const PlannedMachine> machines, PredictReport& report);

/// By the model, with what the step's own range adds to its error.
///
/// @param measured_over_model  MeasuredOverModel() of the recorded GPU; nullopt: nothing was
///                             measured
std::optional<StepEnergy> EnergyOn(const DeviceRates& rates, const StepActivity& activity,
                                   const PredictedMs& step, const KernelConstants& constants,
                                   std::optional<double> measured_over_model = std::nullopt);

}  // namespace headroom
