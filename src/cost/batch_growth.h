// What more samples a step make of the time of a matrix product or convolution.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/operator_call.h"

namespace headroom {

/// The share of an operator's time that stays when its batch grows, in [0, 1): the operator then
/// takes share + (1 - share) * r of its time for r >= 1 times the batch. nullopt: its shapes or the
/// device do not tell.
///
/// A product of few rows fills the GPU badly, reads its weights for little work, and waits at its
/// start and end. None of that grows: what each further sample takes is its FLOPs at the rate that
/// large products sustain (or, of batched products, its bytes). So the share is 1 - F / (R * time),
/// which is how far the recorded operator is below that rate. Measured on one H200, batches of 1 to
/// 16: what a product of float32 takes more for each further sample is 0.60 to 0.77 of the peak,
/// whatever the share of the peak that it began with (0.2 to 0.7). Convolutions are also slow by
/// their algorithms, which more samples do not mend: of them no more stays than what their number
/// of blocks may lose (SustainedShares::lost_when_growing). What is not in it: with more samples,
/// the library may take another algorithm altogether (FFT and Winograd of float32: half the time).
///
/// @param math_dtype    that the products run in (kTF32 where kernels or a change say so)
/// @param tensor_cores  whether they run there
/// @param time          of all kernels of the operator, above 0
/// @param waves         of blocks of its longest kernel, as multiples of what runs at once;
/// nullopt:
///                      not known, and of a convolution only its start stays
std::optional<double> ShareThatStays(const OperatorCall& call, DType math_dtype, bool tensor_cores,
                                     DurationNs time, std::optional<double> waves,
                                     const DeviceSpec& device);

}  // namespace headroom
