// Ranks that share out what each of them need not keep: "ZeRO", and "fully sharded data parallel".
#pragma once

#include <cstdint>

#include "sim/edit.h"
#include "whatif/scenarios/network.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// What each rank keeps its share of alone, the lower ones included (Rajbhandari et al., "ZeRO",
/// SC 2020: its stages).
enum class ZeroStage : std::uint8_t { kOptimizer = 1, kGradients = 2, kParameters = 3 };

/// Each rank updates its share of the parameters, so that the optimizer's kernels do 1/N of their
/// work; their number, and the host's time, stay.
///
/// kOptimizer: gradients are all-reduced in buckets, as without. kGradients: they are
/// reduce-scattered. Behind the update all parameters are gathered, and the next forward waits.
///
/// kParameters: by units, which are the repeated blocks of the network (FindBlocks()), or where
/// there are none, `exchange.bucket_bytes` of parameters. A unit is gathered before its forward
/// while the one before it computes, two being whole at a time, and again before its backward, but
/// for the last of the forward; its gradients are reduce-scattered behind its backward. Copies as
/// PyTorch's fully_shard() makes them: out of what was gathered, and into what is scattered (Zhao
/// et al., "PyTorch FSDP", VLDB 2023).
///
/// Parameters have as many bytes as their gradients were recorded with.
Effect InsertShardedExchange(const Job& job, const Exchange& exchange, ZeroStage sharding,
                             Edit& edit);

}  // namespace headroom
