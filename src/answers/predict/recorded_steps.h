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
  std::string trace;          ///< Path of the trace.
  std::string workload = {};  ///< Name of the workload if there are several; else empty.
  double host_factor = 1;     ///< Speed of the other machine's host, relative to this one.
  bool batch_curve = false;
  std::optional<RecordedMemory> timeline = {};
};

/// Returns the GPU of a trace. Fails with kNoAnswer if the trace does not state it.
///
/// @param from  the user's name of it; empty uses the trace. Fails with kUsage if the trace states
/// another.
Result<DeviceRates> SourceGpuOf(const GpuModels& models, const Job& job, const std::string& trace,
                                const std::string& from);

/// Adds the job and its step on each target. Fails with kNoAnswer if the trace lacks data.
///
/// @param baseline   Forecaster's, of the job
/// @param source     SourceGpuOf()
/// @param whole_job  hours are requested, so there must be steps
/// @param machines   candidates to scale out a job of one GPU
Status AddRecordedStep(const Job& job, const Baseline& baseline, const GpuModels& models,
                       const DeviceRates& source, std::span<const DeviceRates> targets,
                       const RecordedStepQuestion& question, bool whole_job,
                       std::span<const PlannedMachine> machines, PredictReport& report);

/// Returns the model's energy. The step's own range adds to its error.
///
/// @param measured_over_model  MeasuredOverModel() of the recorded GPU; nullopt if it was not
///                             measured
std::optional<StepEnergy> EnergyOn(const DeviceRates& rates, const StepActivity& activity,
                                   const PredictedMs& step, const KernelConstants& constants,
                                   std::optional<double> measured_over_model = std::nullopt);

}  // namespace headroom
