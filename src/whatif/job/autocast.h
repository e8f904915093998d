// Models PyTorch's autocast on each operator of a recorded float32 step: the type in which it
// computes, and the casts before it.
//
// Tensors have no identity in a profile, so types are followed along the forward of each batch by
// the number of elements. A read tensor has the type that was last written with that number of
// elements. If no such write is known, it has the type of the preceding operator's output. Weights
// of products and all inputs of a batch are float32. Backward operators inherit the type from the
// forward operator with the same sequence number.
//
// The lists of operators follow PyTorch's documentation ("CUDA Ops that can autocast to ...").
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "cost/dtype.h"
#include "whatif/job/job.h"

namespace headroom {

/// Rule for an operator's type, given the types of its inputs.
enum class AutocastRule : std::uint8_t {
  kProduct,  ///< Computes in 16 bits for any input.
  kFloat,    ///< Computes in float32 for any input.
  kPromote,  ///< Float32 if any input is; else 16 bits.
};

AutocastRule AutocastRuleOf(std::string_view op);

/// A cast between float32 and the 16-bit type, as a separate kernel.
struct Cast {
  double elements = 0;
  bool widens = false;     ///< Converts to float32.
  bool of_weight = false;  ///< A weight, so its size does not grow with the batch.
};

/// Returns the time of the cast's kernel. REQUIRES: the device's memory bandwidth is known.
DurationNs CastTime(const Cast& cast, const DeviceSpec& device);

/// One operator with GPU tasks.
struct AutocastOperator {
  HostEventId op;
  std::vector<TaskIndex> tasks;  ///< Sorted in graph order.
  bool product = false;          ///< A product or convolution that runs in the 16-bit type.
  double scale = 1;              ///< Factor on the times of its tasks, if it is not a product.
  std::vector<Cast> casts;       ///< Casts that run before it.
};

/// Returns all operators of the forward and the backward, in order of their first task. REQUIRES:
/// the device's memory bandwidth is known.
std::vector<AutocastOperator> FollowAutocast(const Job& job, DType dtype);

}  // namespace headroom
