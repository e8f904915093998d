// Estimates a step on a GPU from its operators alone.
#pragma once

#include <array>
#include <string>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "predict/energy.h"
#include "predict/host_model.h"
#include "predict/kernel_table.h"
#include "predict/operator_list.h"

namespace headroom {

/// A step: its kernels one after another, each after the host has launched it.
struct StepEstimate {
  PredictedMs step;
  double host_ms = 0;  ///< Time that the host takes to launch the step's kernels.
  double gpu_ms = 0;   ///< Time of the kernels alone.
  std::array<double, kStepPhases> phase_ms{};  ///< GPU milliseconds of each StepPhase.
  StepActivity activity;
  /// Share of the kernels' time in products and convolutions on vector units, from 0 to 1.
  double vector_share = 0;
  /// Share of the time that is based on operators measured on the device, from 0 to 1.
  double measured_share = 0;
};

/// Returns the work in the type in which the device runs it: TF32 where PyTorch allows it, and
/// float32 on a device without tensor cores for the type.
KernelWork WorkOn(const ListedWork& listed, const DeviceRates& rates);

/// Returns false for a mark without kernels, such as a gradient that is ready.
bool HasKernels(const KernelWork& work);

/// Returns the estimate of a step. In an inference, the program waits for the result of each step;
/// training steps follow each other without a wait. The range comes from steps of transformers and
/// from the ranges of all other kinds of work. Fails with kNoAnswer if a kernel has
/// no model on the device, and with kBadInput if the step would take decades.
Result<StepEstimate> EstimateStep(const OperatorList& list, const DeviceRates& rates,
                                  const KernelConstants& constants, const HostModel& host);

}  // namespace headroom
