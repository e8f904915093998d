// What PyTorch's autocast would do to each operator of a recorded float32 step: in which type it
// computes, and which casts come before it.
//
// Tensors have no identity in a profile. Types are followed along the forward of each batch by the
// number of elements: what was last written with as many elements is taken to be what is read; of a
// number that none is known to have written, the operator before. Weights of products are float32,
// and so is all that a batch begins with. Backward operators inherit from the forward operator of
// their sequence number. The lists of operators are those of PyTorch's documentation ("CUDA Ops
// that can autocast to ...").
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "cost/dtype.h"
#include "whatif/job/job.h"

namespace headroom {

/// How an operator's type follows from those of its inputs.
enum class AutocastRule : std::uint8_t {
  kProduct,  ///< Computes in 16 bits, whatever comes in.
  kFloat,    ///< Computes in float32, whatever comes in.
  kPromote,  ///< Float32 if any input is; else 16 bits.
};

AutocastRule AutocastRuleOf(std::string_view op);

/// A cast between float32 and the 16-bit type, as a kernel of its own.
struct Cast {
  double elements = 0;
  bool widens = false;     ///< To float32.
  bool of_weight = false;  ///< Not of what grows with the batch.
};

/// The time of its kernel. REQUIRES: the device's memory bandwidth is known.
DurationNs CastTime(const Cast& cast, const DeviceSpec& device);

/// One operator with GPU tasks.
struct AutocastOperator {
  HostEventId op;
  std::vector<TaskIndex> tasks;  ///< In order.
  bool product = false;          ///< A product or convolution that runs in the 16-bit type.
  double scale = 1;              ///< Else: what its tasks' times are multiplied with.
  std::vector<Cast> casts;       ///< Before it.
};

/// All operators of the forward and the backward, in order of their first task.
/// REQUIRES: the device's memory bandwidth is known.
std::vector<AutocastOperator> FollowAutocast(const Job& job, DType dtype);

}  // namespace headroom
