// Attention that is computed step by step (products, scale, mask, softmax, dropout, copies), found
// by its structure: two batched products around a softmax over the same scores.
#pragma once

#include <optional>
#include <vector>

#include "cost/dtype.h"
#include "kernels/attention_time.h"
#include "whatif/job/job.h"

namespace headroom {

/// One attention of the forward, and its backward.
struct EagerAttention {
  AttentionShape shape;
  DType dtype = DType::kUnknown;         ///< Of the products.
  std::vector<TaskIndex> forward;        ///< GPU tasks, in order of launch.
  std::vector<TaskIndex> backward;       ///< Empty where the job only infers.
  std::vector<HostEventId> host_events;  ///< Whose host work, with all inside, belongs to it.
};

/// All of the job, in order. A mask over queries and keys that is the same for all heads is taken
/// to be causal: traces do not hold its values.
std::vector<EagerAttention> FindEagerAttention(const Job& job);

}  // namespace headroom
