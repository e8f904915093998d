// What a training step keeps on the GPU for its backward.
//
// A model, from the shapes of the forward's operators and from what PyTorch's autograd saves for
// each of them (tools/autograd/derivatives.yaml): operands of products, inputs of convolutions and
// norms, outputs of softmax, relu and tanh, masks of dropout, indices of pooling. Tensors have no
// identity in a profile: what was last written with as many elements is taken to be what is read,
// and what several operators save counts once. To that comes what the loss holds at the moment of
// the peak, when its backward begins: two gradients of the size of its logits.
//
// It leaves out the allocator's rounding, the libraries' workspaces and whatever the program keeps
// by itself; differences between two changes of a job are what it is for.
#pragma once

#include <optional>

#include "whatif/job.h"

namespace headroom {

/// What a change does to the activations.
struct ActivationChange {
  bool autocast = false;         ///< Products save 16-bit operands, and 16-bit copies of weights.
  bool fused_attention = false;  ///< Scores are not saved; Q, K, V and the output are.
  bool checkpointing =
      false;  ///< Of repeated blocks, the inputs are saved, and one block is whole.
  double batch_ratio = 1;

  bool operator==(const ActivationChange&) const = default;
  /// Both changes.
  ActivationChange operator|(const ActivationChange& other) const {
    return {.autocast = autocast || other.autocast,
            .fused_attention = fused_attention || other.fused_attention,
            .checkpointing = checkpointing || other.checkpointing,
            .batch_ratio = batch_ratio * other.batch_ratio};
  }
};

/// Bytes that a step keeps; nullopt where shapes are missing, where there is no backward, and for
/// operators whose reserve shapes do not tell (cuDNN's recurrent networks).
std::optional<double> ActivationBytes(const Job& job, const ActivationChange& change);

}  // namespace headroom
