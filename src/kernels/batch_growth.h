// What more samples per step make of the time of a matrix product, convolution or recurrent
// operator.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/operator_call.h"

namespace headroom {

/// How an operator ran.
struct RanAs {
  DType math_dtype = DType::kUnknown;  ///< kTF32 where kernels or a change say so.
  bool tensor_cores = false;
  DurationNs time{};  ///< Of all its kernels.
  /// Blocks of its longest kernel, as multiples of what runs at once; above 0. nullopt: not known,
  /// e.g. of a kernel that a change brings.
  std::optional<double> waves = {};
};

/// The share of an operator's time that stays when its batch grows, in [0, 1]: the operator then
/// takes share + (1 - share) * r of its time for r >= 1 times the batch. nullopt: its shapes or the
/// device do not tell.
///
/// A product of few rows fills the GPU badly, reads its weights for little work, and waits at its
/// start and end. None of that grows: what each further sample takes is its FLOPs F at the rate R
/// that large products sustain (or, of batched products, its bytes). The share is thus
/// 1 - F / (R * time), how far the recorded operator is below that rate; but no more than its
/// blocks leave free of a wave and its weights take to read, as what is slow for another reason
/// stays as slow. docs/engine.md has the measurements. What is not in it: with more samples, the
/// library may take another algorithm altogether (FFT and Winograd of float32: half the time).
std::optional<double> ShareThatStays(const OperatorCall& call, const RanAs& ran,
                                     const DeviceSpec& device);

}  // namespace headroom
