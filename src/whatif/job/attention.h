// Finds attention that runs operator by operator (products, scale, mask, softmax, dropout, copies).
// Recognizes its structure: two batched matrix products around a softmax over the same scores.
#pragma once

#include <optional>
#include <vector>

#include "cost/dtype.h"
#include "kernels/attention_time.h"
#include "whatif/job/job.h"

namespace headroom {

/// One attention operation in the forward pass, and its backward pass.
struct EagerAttention {
  AttentionShape shape;
  DType dtype = DType::kUnknown;    ///< Type of the products.
  std::vector<TaskIndex> forward;   ///< GPU tasks, in order of launch.
  std::vector<TaskIndex> backward;  ///< Empty if the job only runs inference.
  /// Events whose host work belongs to the attention, including all nested events.
  std::vector<HostEventId> host_events;
};

/// Returns all attention operations of this kind in the job, in order. Assumes that a mask over
/// queries and keys is causal if all heads share it, because traces do not hold its values.
std::vector<EagerAttention> FindEagerAttention(const Job& job);

}  // namespace headroom
