// Forecasts the time of a matrix product, convolution or recurrent operator for more samples per
// step.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/operator_call.h"

namespace headroom {

/// How an operator ran in the trace.
struct RanAs {
  DType math_dtype = DType::kUnknown;  ///< kTF32 if the kernels or a change use it.
  bool tensor_cores = false;
  DurationNs time{};  ///< Sum over all its kernels.
  /// Waves of its longest kernel: its blocks divided by the blocks that run at once. Above 0;
  /// nullopt if unknown, e.g. for a kernel that a change introduces.
  std::optional<double> waves = {};
};

/// Returns the share of an operator's time that stays constant when its batch grows, in [0, 1].
/// With r >= 1 times the batch, the operator takes share + (1 - share) * r of its recorded time.
/// Returns nullopt if its shapes or the device do not determine the share.
///
/// A product with few rows underutilizes the GPU, reads its weights for little work, and waits at
/// its start and end. None of these costs grows with the batch. Each further sample takes the time
/// of its FLOPs at the rate R that large products sustain. In a batched product, it takes the time
/// of its bytes if that is longer. The share of an operator with F FLOPs is thus 1 - F / (R *
/// time): how far the recorded operator is below that rate. The share is at most that of one wave
/// of blocks (half a wave for convolutions), plus that of reading a product's weights. If a product
/// is slow for another reason, the rest of its time grows. docs/engine.md has the measurements.
///
/// Not modelled: with more samples, the library can switch to another algorithm. FFT and Winograd
/// of float32 take half the time.
std::optional<double> ShareThatStays(const OperatorCall& call, const RanAs& ran,
                                     const DeviceSpec& device);

}  // namespace headroom
