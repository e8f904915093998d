// How much GPU memory a training step takes beside its parameters and the optimizer's state.
//
// A model of what is kept for the backward, from the shapes of the forward's operators and from
// what PyTorch's autograd saves for each of them (tools/autograd/derivatives.yaml): operands of
// products, inputs of convolutions and norms, outputs of softmax, relu and tanh, masks of dropout,
// indices of pooling. Tensors have no identity in a profile: what was last written with as many
// elements is taken to be what is read, and what several operators save counts once.
//
// The peak is the largest of three moments: when the backward begins, with all that was saved and
// two gradients of the size of the loss's logits; when it ends, with all gradients of parameters
// and, with checkpointing, one block that ran again; and the update, with the gradients and, where
// it goes through parameters one by one, its temporary tensors of the size of the largest.
//
// It leaves out the allocator's rounding, the libraries' workspaces (cuDNN takes gigabytes for some
// convolutions in float32) and whatever the program keeps by itself; differences between two
// changes of a job are what it is for.
#pragma once

#include <optional>

#include "whatif/job.h"

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
  double batch_ratio = 1;

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

/// Bytes at the peak; nullopt where shapes are missing, where there is no backward, and for
/// operators whose reserve shapes do not tell (cuDNN's recurrent networks).
std::optional<double> PeakBytes(const Job& job, const MemoryChange& change);

}  // namespace headroom
