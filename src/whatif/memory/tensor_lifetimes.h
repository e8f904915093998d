// Lifetime of each tensor of a step: from the operator that makes it to the last one that reads it.
//
// Tensors have no identity in a profile. Three facts about PyTorch replace it:
// - A forward operator and the backward node that it made share a sequence number. The node's name
//   shows the saved tensors (saved_tensors.h).
// - A backward node that adds two gradients of one size shows that a later operator also reads the
//   forward operator's input of that size. Any other tensor of the forward is read once, under the
//   shape of its write or view (held_tensors.h).
// - The reads and results of the backward follow from the nodes' incoming gradients.
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
  kActivation,  ///< Made by the forward, not saved.
  kSaved,
  kGradient,  ///< Moves through the backward.
  kParameterGradient,
  kUpdate,  ///< Temporary tensors of the parameters' update.
};

/// A stretch of the step, in positions of its operators, both ends included.
struct Lifetime {
  std::size_t birth = 0, death = 0;
};

/// One piece of memory.
struct Storage {
  double elements = 0;
  DType dtype = DType::kUnknown;  ///< Recorded type.
  double element_bytes = 0;       ///< Bytes per element with the change.
  StorageKind kind = StorageKind::kActivation;
  bool grows = true;     ///< True if its size grows with the batch.
  bool is_cast = false;  ///< True for a copy in another type that autocast makes.
  bool removed = false;  ///< True if the change removes the storage.
  Lifetime life;
  std::vector<std::size_t> readers;  ///< Positions in the forward.
  /// With checkpointing, the storage is freed after `death` and recomputed at `birth`.
  std::optional<Lifetime> away = {};

  /// Returns the allocated bytes: multiples of 512 bytes (kMinBlockSize of PyTorch's
  /// CUDACachingAllocator).
  double BytesAt(double batch_ratio) const;
  /// Returns the stretches of the step in which the storage takes memory: one or, with
  /// checkpointing, two.
  std::vector<Lifetime> Lives() const;
};

/// Returns the bytes rounded up as the caching allocator does.
double AllocatedBytes(double bytes);

/// Workspace of one convolution, for each call of the library.
struct OperatorWorkspace {
  std::size_t op = 0;
  std::vector<GrowingBytes> calls;
};

/// All tensors and workspaces of a step.
struct TensorLifetimes {
  std::vector<Storage> storages;
  std::vector<OperatorWorkspace> workspaces;
  std::vector<double> parameters;  ///< Bytes of each trained parameter.
  double frozen_bytes = 0;         ///< Weights of products and embeddings that are not trained.
  /// True if the step adds to existing gradients instead of making new ones. Gradients then live
  /// throughout the step.
  bool gradients_stay = false;
  std::int64_t assumed = 0;   ///< Number of backward nodes without a rule for their saved tensors.
  std::size_t operators = 0;  ///< Number of positions in the step.
  bool forward_is_seen = false;  ///< True if an operator of the forward ran on the GPU.
};

TensorLifetimes FindTensorLifetimes(const Job& job, const StepOperators& step,
                                    const MemoryChange& change);

}  // namespace headroom
