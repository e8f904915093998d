// Peak memory of a training step, in parts, from one trace. The model's upper bound is
//
//   parameters + optimizer state + cuBLAS workspaces
//     + max over the step's operators of (bytes of all other live tensors + cuDNN workspace)
//
// The model counts bytes as PyTorch's caching allocator does (torch.cuda.max_memory_allocated()).
// No constant in the model is fitted. The peak may be at the start of the backward, in any of its
// nodes, in a forward convolution or in the update. The model therefore visits all positions
// (tensor_lifetimes.h).
//
// The model does not cover tensors that the program keeps, buffers, tensors of compiled regions,
// data-parallel buckets, and pools of CUDA graphs. Of weights that are not trained, it counts those
// of products, convolutions and embeddings. A process that drives several GPUs counts as one GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "whatif/job/job.h"
#include "whatif/memory/library_workspace.h"
#include "whatif/memory/memory_change.h"
#include "whatif/memory/optimizer_state.h"
#include "whatif/memory/tensor_lifetimes.h"

namespace headroom {

/// Bytes at one moment of a step.
struct MemoryParts {
  double parameters = 0;
  double gradients = 0;  ///< Gradients of parameters.
  double optimizer_state = 0;
  double activations = 0;  ///< Saved for the backward.
  double temporaries = 0;  ///< All other tensors.
  double workspace = 0;    ///< Workspaces of the libraries.

  double Total() const {
    return parameters + gradients + optimizer_state + activations + temporaries + workspace;
  }
};

/// Stages of the Zero Redundancy Optimizer (Rajbhandari et al., SC 2020, section 5). The ranks of a
/// data-parallel job share the optimizer state (1), also the gradients (2), also the parameters (3;
/// FSDP's full sharding).
struct Sharding {
  int stage = 0;  ///< Stage from 0 to 3.
  int ranks = 1;  ///< Number of ranks, at least 1.
};

/// Returns the parts on one rank, before anything is gathered: 1/ranks of the parts that the stage
/// shards, and the full size of all others.
MemoryParts Shard(const MemoryParts& parts, const Sharding& sharding);

/// Behaviour of cuDNN's workspaces with another batch size. kGrow: cuDNN keeps its algorithms,
/// whose workspace grows in proportion. kStay: cuDNN chooses other algorithms with about the
/// recorded workspace.
enum class Workspaces { kGrow, kStay };

/// Note for a forecast with StepMemory::workspace_uncertain.
inline constexpr std::string_view kWorkspaceDoubt =
    "cuDNN's workspace is a large part of the memory, and with {} batch cuDNN may choose another "
    "algorithm with another workspace";

struct StepMemory {
  MemoryParts parts;      ///< Bytes at the peak.
  double peak_bytes = 0;  ///< Their sum: allocated bytes.
  /// True if the batch size changes and cuDNN's workspace is more than a tenth of the peak. The
  /// library may then choose another algorithm, with another workspace or none.
  bool workspace_uncertain = false;
};

/// A model of a step's memory at any batch size and sharding.
class StepMemoryModel {
 public:
  /// Fails with kNoAnswer in any of these cases:
  /// - Nothing marks the steps.
  /// - Shapes are missing.
  /// - There is no backward.
  /// - No parameter has its gradient accumulated.
  /// - The forward's operators do not launch its work (a CUDA graph).
  ///
  /// @param change  change to model; its batch_ratio is ignored
  static Result<StepMemoryModel> Make(const Job& job, const MemoryChange& change);

  /// Returns the peak of the step. With stage 3, adds the largest parameter in full: at any moment,
  /// at least one parameter must be gathered.
  ///
  /// @param batch_ratio  samples per step, relative to the recorded ones
  StepMemory PeakAt(double batch_ratio, const Sharding& sharding = {},
                    Workspaces workspaces = Workspaces::kGrow) const;

  /// Returns the bytes taken from the driver, from a replay of the allocator's rules; at least the
  /// peak.
  double ReservedAt(double batch_ratio) const;

  /// Returns the largest batch ratio, relative to the recording, whose peak is at most `bytes`.
  /// Returns 0 if the part that does not depend on the batch is already too large. Returns nullopt
  /// if too little grows with the batch for a limit.
  std::optional<double> LargestBatch(double bytes, Workspaces workspaces = Workspaces::kGrow) const;

  /// Number of backward nodes without a rule for their saved tensors. The model assumes that they
  /// save their first input.
  std::int64_t unknown_operators() const { return tensors_.assumed; }
  /// Returns the optimizer's name, such as "AdamW"; empty if the step has no optimizer range.
  const std::string& optimizer() const { return optimizer_.name; }

 private:
  StepMemoryModel() = default;
  MemoryParts Constant() const;

  TensorLifetimes tensors_;
  OptimizerState optimizer_;
  std::optional<double> other_state_bytes_;  ///< MemoryChange::optimizer_state_bytes.
  std::vector<LibraryWorkspace> libraries_;
};

}  // namespace headroom
