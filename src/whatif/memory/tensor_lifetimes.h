// When each tensor of a step lives: made by one operator, last needed by another.
//
// Tensors have no identity in a profile. Three facts of PyTorch make up for it:
//   - An operator of the forward and the node of the backward that it made share a sequence number,
//     and the node's name tells what was saved (saved_tensors.h).
//   - A node of the backward that adds up two gradients of one size tells that the forward
//   operator's
//     input of that size had another reader later on. Any other tensor of the forward is read once
//     under the shape that it was written with or looked at (held_tensors.h).
//   - What the backward reads and makes follows from the nodes' incoming gradients.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "whatif/job/step_operators.h"
#include "whatif/memory/convolution_workspace.h"
#include "whatif/memory/memory_change.h"

namespace headroom {

enum class StorageKind : std::uint8_t {
  kActivation,  ///< Of the forward, not saved.
  kSaved,
  kGradient,  ///< On its way through the backward.
  kParameterGradient,
  kUpdate,  ///< Temporary tensors of the parameters' update.
};

/// A stretch of the step, in positions of its operators, both ends within.
struct Lifetime {
  std::size_t birth = 0, death = 0;
};

/// One piece of memory.
struct Storage {
  double elements = 0;
  DType dtype = DType::kUnknown;  ///< As recorded.
  double element_bytes = 0;       ///< With the change.
  StorageKind kind = StorageKind::kActivation;
  bool grows = true;     ///< With the batch.
  bool is_cast = false;  ///< A copy in another type that autocast makes.
  bool removed = false;  ///< The change does without it.
  Lifetime life;
  std::vector<std::size_t> readers;  ///< In the forward.
  /// Checkpointing: freed behind `death`, and there again from `birth` on.
  std::optional<Lifetime> away = {};

  /// As the allocator hands it out: in multiples of 512 bytes (kMinBlockSize of PyTorch's
  /// CUDACachingAllocator).
  double BytesAt(double batch_ratio) const;
  /// When it takes memory: once or, with checkpointing, twice.
  std::vector<Lifetime> Lives() const;
};

/// Bytes, rounded up to what the caching allocator hands out.
double AllocatedBytes(double bytes);

/// What one convolution takes beside its tensors, for each call of the library.
struct OperatorWorkspace {
  std::size_t op = 0;
  std::vector<GrowingBytes> calls;
};

/// All that comes and goes in a step.
struct TensorLifetimes {
  std::vector<Storage> storages;
  std::vector<OperatorWorkspace> workspaces;
  std::vector<double> parameters;  ///< Bytes of each that is trained.
  /// Gradients are added to what is there instead of being made anew: they live all the time.
  bool gradients_stay = false;
  std::int64_t assumed = 0;      ///< Nodes of the backward without a rule for what they keep.
  std::size_t operators = 0;     ///< Positions in the step.
  bool forward_is_seen = false;  ///< An operator of the forward ran on the GPU.
};

TensorLifetimes FindTensorLifetimes(const Job& job, const StepOperators& step,
                                    const MemoryChange& change);

}  // namespace headroom
