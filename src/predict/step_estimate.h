// Estimates a step on a GPU from its operators alone.
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

/// GPU time of a step: its kernels one after another. Without a trace, the host's time to launch
/// them is unknown.
struct StepEstimate {
  PredictedMs step;
  std::array<double, 3> phase_ms{};  ///< Milliseconds of each StepPhase.
  StepActivity activity;
  /// Share of the time that is based on operators measured on the device, from 0 to 1.
  double measured_share = 0;
};

/// Returns the estimate of a step. Its range comes from steps of transformers, which have no
/// convolutions. Convolutions therefore add their own range. Fails with kNoAnswer if a kernel has
/// no model on the device, and with kBadInput if the step would take decades.
Result<StepEstimate> EstimateStep(const OperatorList& list, const DeviceRates& rates,
                                  const KernelConstants& constants);

}  // namespace headroom
