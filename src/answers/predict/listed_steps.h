// Predicts steps from lists of operators.
#pragma once

#include <span>
#include <string>

#include "answers/predict/render.h"
#include "base/status.h"
#include "kernels/device_rates.h"
#include "predict/gpu_models.h"
#include "predict/host_model.h"
#include "predict/operator_list.h"

namespace headroom {

/// Adds the time of each list on each target. Fails with kNoAnswer if no list has an operator with
/// known kernels.
///
/// @param unchanged  the same lists without their change; empty if there is none
/// @param path      file of the lists, for messages
/// @param host      launches the kernels of one GPU
/// @param machines  machines with several GPUs, to which a job of one GPU may be scaled out
Status AddListedSteps(std::span<const OperatorList> lists, std::span<const OperatorList> unchanged,
                      const std::string& path, std::span<const DeviceRates> targets,
                      const GpuModels& models, std::span<const PlannedMachine> machines,
                      const HostModel& host, PredictReport& report);

}  // namespace headroom
