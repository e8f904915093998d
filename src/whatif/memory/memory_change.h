// What a scenario does to the tensors of a step, told to the model of its memory (step_memory.h).
#pragma once

namespace headroom {

/// What a change does to a step's memory.
struct MemoryChange {
  bool autocast = false;         ///< Products save 16-bit operands, and 16-bit copies of weights.
  bool fused_attention = false;  ///< Scores are not saved; Q, K, V and the output are.
  bool checkpointing = false;    ///< Of repeated blocks, only the inputs are saved.
  bool fused_update = false;     ///< The update has no temporary tensors.
  bool foreach_update = false;   ///< It goes through all parameters at once.
  bool tensor_core_convolutions = false;  ///< Those of float32 run as TF32.
  bool channels_last = false;             ///< Convolutions find their tensors in that layout.
  double batch_ratio = 1;                 ///< Samples a step, of those recorded.

  bool operator==(const MemoryChange&) const = default;
  /// Both changes.
  MemoryChange operator|(const MemoryChange& other) const {
    return {.autocast = autocast || other.autocast,
            .fused_attention = fused_attention || other.fused_attention,
            .checkpointing = checkpointing || other.checkpointing,
            .fused_update = fused_update || other.fused_update,
            .foreach_update = foreach_update || other.foreach_update,
            .tensor_core_convolutions = tensor_core_convolutions || other.tensor_core_convolutions,
            .channels_last = channels_last || other.channels_last,
            .batch_ratio = batch_ratio * other.batch_ratio};
  }
};

}  // namespace headroom
