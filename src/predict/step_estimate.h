// A step that is known by its operators alone, on a GPU.
#pragma once

#include <array>
#include <string>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "predict/energy.h"
#include "predict/kernel_table.h"
#include "predict/operator_list.h"

namespace headroom {

/// GPU time of a step: its kernels one after the other. What the host needs to launch them is not
/// known without a trace.
struct StepEstimate {
  PredictedMs step;
  std::array<double, 3> phase_ms{};  ///< By StepPhase.
  StepActivity activity;
  /// How much of the time is known by operators that were measured on the device, from 0 to 1.
  double measured_share = 0;
};

/// The range of the step is that of transformers' steps; convolutions, which those have none of,
/// add theirs.
///
/// Fails (kNoAnswer) where some kernel has no model on the device, and (kBadInput) where the step
/// would take decades.
Result<StepEstimate> EstimateStep(const OperatorList& list, const DeviceRates& rates,
                                  const KernelConstants& constants);

}  // namespace headroom
