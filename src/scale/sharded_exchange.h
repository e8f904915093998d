// Sharded data parallelism: "ZeRO" and "fully sharded data parallel".
#pragma once

#include <cstdint>
#include <optional>

#include "sim/edit.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// Data of which each rank keeps only its share; a stage includes the data of the lower stages
/// (Rajbhandari et al., "ZeRO", SC 2020).
enum class ZeroStage : std::uint8_t { kOptimizer = 1, kGradients = 2, kParameters = 3 };

/// A stage, and the GPUs that share.
struct ZeroSharding {
  ZeroStage stage = ZeroStage::kParameters;
  /// Consecutive ranks that share one copy; nullopt: all ranks. PyTorch calls it HYBRID_SHARD. With
  /// kParameters only.
  std::optional<std::int64_t> gpus = {};
};

/// Each rank updates its share of the parameters. The optimizer's kernels then do 1/N of their
/// work; their number and the host's time do not change.
///
/// kOptimizer: gradients are all-reduced in buckets, as without sharding. kGradients: gradients are
/// reduce-scattered. In both cases all parameters are gathered after the update, and the next
/// forward waits.
///
/// kParameters: works by units, which are the repeated blocks of the network (FindBlocks()).
/// Without repeated blocks, a unit has `exchange.bucket_bytes` of parameters. A unit is gathered
/// before its forward while the previous unit computes, so that two units are complete at a time.
/// It is gathered again before its backward, except the last unit of the forward. Its gradients are
/// reduce-scattered after its backward. Copies are those of PyTorch's fully_shard(): out of the
/// gathered data, and into the scattered data (Zhao et al., "PyTorch FSDP", VLDB 2023).
///
/// With several copies, their gradients are all-reduced after each scatter, on another channel.
///
/// Assumes that parameters have as many bytes as their recorded gradients.
Effect InsertShardedExchange(const Job& job, const Exchange& exchange, const ZeroSharding& sharding,
                             Edit& edit);

}  // namespace headroom
