// Time of recurrent networks that a library runs as one operator.
#pragma once

#include <optional>

#include "cost/dtype.h"
#include "cost/operator_call.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Returns the nanoseconds of the operator on the GPU. Returns nullopt if the device has no model
/// for products of `dtype`.
///
/// Forward, per layer: one product of all steps' inputs, and `steps` times the product of the
/// previous state with its weights followed by the cells. In 16 bits on Ampere and later, a layer
/// of one direction whose state has at most 1024 elements runs all steps in one persistent kernel
/// that keeps the weights on chip. The backward has the same steps, and the products for the
/// gradients of inputs and weights of all steps at once.
///
/// Source: steps of cuDNN in traces of h200-recurrent/ (docs/predict.md).
std::optional<double> RecurrentNs(const RecurrentWork& work, DType dtype, const DeviceRates& rates,
                                  const KernelConstants& constants);

/// Returns a recorded recurrent operator as work. Returns nullopt for other operators, and if the
/// batch was not recorded.
std::optional<RecurrentWork> RecurrentWorkOf(const OperatorCall& call);

/// Returns true if one persistent kernel runs all steps of a layer.
bool IsPersistent(const RecurrentWork& work, DType dtype, const DeviceRates& rates);

/// Returns the FLOPs of the products (cost/recurrent_cost.cc).
double RecurrentFlops(const RecurrentWork& work);

/// Returns the bytes of inputs, outputs and weights of every layer; in a backward twice.
double RecurrentBytes(const RecurrentWork& work, DType dtype);

/// Returns the number of kernels that the library launches.
double RecurrentKernels(const RecurrentWork& work, DType dtype, const DeviceRates& rates);

}  // namespace headroom
