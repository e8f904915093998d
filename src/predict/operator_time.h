// How long a recorded operator takes on a GPU by the models, from its shapes.
#pragma once

#include <optional>

#include "cost/kernel_class.h"
#include "cost/operator_call.h"
#include "cost/operator_cost.h"
#include "predict/device_rates.h"
#include "predict/kernel_constants.h"
#include "predict/kernel_work.h"

namespace headroom {

/// What is known of a recorded operator.
struct OperatorWork {
  const OperatorCall* call = nullptr;
  const OperatorCost* cost = nullptr;
  KernelClass longest;  ///< Of its longest kernel.
  /// Whether NVIDIA's library may run it in TF32, where it is a convolution in float32 and the GPU
  /// can: PyTorch's default, which shows only on such a GPU.
  bool allows_tf32 = false;
};

WorkClass ClassOf(const OperatorWork& work);

/// Nanoseconds of all its kernels; nullopt: nothing is known of it. Products and convolutions by
/// KernelNs() or cost/kernel_time.h; all others, and other types (float64), by their compulsory
/// bytes and FLOPs (roofline), where the data sheet gives a peak, uncorrected. What a GPU has no
/// tensor cores for runs in float32 there.
std::optional<double> OperatorNs(const OperatorWork& work, const DeviceRates& rates,
                                 const KernelConstants& constants);

/// What operators that were measured on the device say of it (predict/local_correction.h): of
/// products and convolutions by their shape, of all others by the bytes that they move.
/// OperatorNs() has it in the former already.
Correction CorrectionOf(const OperatorWork& work, const DeviceRates& rates);

/// Whether it is a product or convolution with a model of its shape, not of its bytes alone.
bool HasOwnModel(const OperatorWork& work, const DeviceRates& rates);

/// Whether it is a product, convolution or attention that runs on tensor cores there.
bool RunsOnTensorCores(const OperatorWork& work, const DeviceRates& rates);

/// Nanoseconds that its arithmetic, at the rate that the power allows for long, and then its bytes
/// would take: how much of its time a GPU draws all of its power. nullopt: its cost is not known.
std::optional<double> FullPowerNs(const OperatorWork& work, const DeviceRates& rates);

}  // namespace headroom
