// Effect of a scenario on the tensors of a step, as input for the memory model (step_memory.h).
#pragma once

#include <cstddef>
#include <optional>
#include <set>

namespace headroom {

/// Effect of a change on a step's memory.
struct MemoryChange {
  /// Matrix products save 16-bit operands and 16-bit copies of weights.
  bool autocast = false;
  bool fused_attention = false;  ///< Saves Q, K, V and the output instead of scores.
  bool checkpointing = false;    ///< Saves only the inputs of repeated blocks.
  /// Blocks that `checkpointing` applies to, by their index in the step; empty for all.
  std::set<std::size_t> checkpointed_blocks = {};
  bool fused_update = false;              ///< The update has no temporary tensors.
  bool foreach_update = false;            ///< The update processes all parameters at once.
  bool tensor_core_convolutions = false;  ///< Float32 convolutions run as TF32.
  bool channels_last = false;             ///< Tensors of convolutions already have that layout.
  /// Bytes that another optimizer keeps from step to step; nullopt: the recorded optimizer.
  std::optional<double> optimizer_state_bytes = {};
  double batch_ratio = 1;  ///< Samples per step, relative to the recorded ones.

  bool operator==(const MemoryChange&) const = default;
  /// Returns the blocks that either change checkpoints; empty for all or for none.
  std::set<std::size_t> BlocksWith(const MemoryChange& other) const {
    if (!checkpointing) return other.checkpointed_blocks;
    std::set<std::size_t> blocks = checkpointed_blocks;
    if (!other.checkpointing || blocks.empty()) return blocks;
    if (other.checkpointed_blocks.empty()) return {};
    blocks.insert(other.checkpointed_blocks.begin(), other.checkpointed_blocks.end());
    return blocks;
  }

  /// Combines both changes.
  MemoryChange operator|(const MemoryChange& other) const {
    return {.autocast = autocast || other.autocast,
            .fused_attention = fused_attention || other.fused_attention,
            .checkpointing = checkpointing || other.checkpointing,
            .checkpointed_blocks = BlocksWith(other),
            .fused_update = fused_update || other.fused_update,
            .foreach_update = foreach_update || other.foreach_update,
            .tensor_core_convolutions = tensor_core_convolutions || other.tensor_core_convolutions,
            .channels_last = channels_last || other.channels_last,
            .optimizer_state_bytes =
                other.optimizer_state_bytes ? other.optimizer_state_bytes : optimizer_state_bytes,
            .batch_ratio = batch_ratio * other.batch_ratio};
  }
};

}  // namespace headroom
