// Effect of a scenario on the tensors of a step, as input for the memory model (step_memory.h).
#pragma once

#include <optional>

namespace headroom {

/// Effect of a change on a step's memory.
struct MemoryChange {
  /// Matrix products save 16-bit operands and 16-bit copies of weights.
  bool autocast = false;
  bool fused_attention = false;           ///< Saves Q, K, V and the output instead of scores.
  bool checkpointing = false;             ///< Saves only the inputs of repeated blocks.
  bool fused_update = false;              ///< The update has no temporary tensors.
  bool foreach_update = false;            ///< The update processes all parameters at once.
  bool tensor_core_convolutions = false;  ///< Float32 convolutions run as TF32.
  bool channels_last = false;             ///< Tensors of convolutions already have that layout.
  /// Bytes that another optimizer keeps from step to step; nullopt: the recorded optimizer.
  std::optional<double> optimizer_state_bytes = {};
  double batch_ratio = 1;  ///< Samples per step, relative to the recorded ones.

  bool operator==(const MemoryChange&) const = default;
  /// Combines both changes.
  MemoryChange operator|(const MemoryChange& other) const {
    return {.autocast = autocast || other.autocast,
            .fused_attention = fused_attention || other.fused_attention,
            .checkpointing = checkpointing || other.checkpointing,
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
