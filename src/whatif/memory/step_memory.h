// Peak memory of a training step, in parts, from one trace: at most
//
//   parameters + optimizer's state + cuBLAS' workspaces
//     + max over the step's operators of (bytes of all other tensors alive + cuDNN's workspace)
//
// as PyTorch's caching allocator counts (torch.cuda.max_memory_allocated()). No constant in it is
// fitted. The moment matters: the peak may be at the begin of the backward, in any node of it, in a
// forward convolution or in the update, so all moments are gone through (tensor_lifetimes.h).
//
// What it does not see: tensors that the program keeps by itself, reserves of recurrent networks,
// what compiled regions keep, buckets of data-parallel training, pools of CUDA graphs. A process
// that drives several GPUs counts as one.
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
  double gradients = 0;  ///< Of parameters.
  double optimizer_state = 0;
  double activations = 0;  ///< Saved for the backward.
  double temporaries = 0;  ///< All other tensors.
  double workspace = 0;    ///< Of the libraries.

  double Total() const {
    return parameters + gradients + optimizer_state + activations + temporaries + workspace;
  }
};

/// The Zero Redundancy Optimizer's stages (Rajbhandari et al., SC 2020, section 5): the ranks of a
/// data-parallel job share out optimizer state (1), gradients as well (2), parameters as well (3;
/// FSDP's full sharding).
struct Sharding {
  int stage = 0;  ///< 0 to 3.
  int ranks = 1;  ///< From 1 up.
};

/// What is left of the parts on one rank, before anything is gathered: of what the stage shares out
/// 1/ranks, activations and all else as it is.
MemoryParts Shard(const MemoryParts& parts, const Sharding& sharding);

/// What becomes of cuDNN's workspaces with another batch: the same algorithms take in proportion,
/// or the library chooses others that need no more (or less) than the recorded ones.
enum class Workspaces { kGrow, kStay };

/// Of a forecast whose StepMemory::workspace_uncertain is true.
inline constexpr std::string_view kWorkspaceDoubt =
    "cuDNN's workspace is a large part of the memory, and with {} batch it may choose another "
    "algorithm with another one";

struct StepMemory {
  MemoryParts parts;      ///< At the peak.
  double peak_bytes = 0;  ///< Their sum: allocated.
  /// cuDNN's workspace is more than a tenth of the peak and the batch is another one, for which
  /// the library may choose another algorithm: the workspace may be gone, or there be another.
  bool workspace_uncertain = false;
};

/// A step with all that it takes to know its memory at any batch size and sharding.
class StepMemoryModel {
 public:
  /// Fails (kNoAnswer) where nothing marks the steps, where shapes are missing, where there is no
  /// backward, where no parameter has its gradient accumulated, and where the forward's operators
  /// did not launch its work (a CUDA graph).
  ///
  /// @param change  its batch_ratio does not count
  static Result<StepMemoryModel> Make(const Job& job, const MemoryChange& change);

  /// A sharded job also has, at any moment, the largest parameter as a whole (stage 3), which is
  /// the least that has to be gathered.
  ///
  /// @param batch_ratio  samples per step, of those recorded
  StepMemory PeakAt(double batch_ratio, const Sharding& sharding = {},
                    Workspaces workspaces = Workspaces::kGrow) const;

  /// Bytes taken from the driver, by a replay of the allocator's rules; at least the peak.
  double ReservedAt(double batch_ratio) const;

  /// The most samples that fit a memory, as a multiple of those that were recorded: the largest
  /// ratio at which the peak is at most so many bytes; 0 where what does not depend on the batch is
  /// too much by itself; nullopt where too little grows with the batch to tell.
  std::optional<double> LargestBatch(double bytes, Workspaces workspaces = Workspaces::kGrow) const;

  /// Nodes of the backward without a rule for what they keep; their first input is taken to be it.
  std::int64_t unknown_operators() const { return tensors_.assumed; }
  /// "AdamW"; empty: the step has none.
  const std::string& optimizer() const { return optimizer_.name; }

 private:
  StepMemoryModel() = default;
  MemoryParts Constant() const;

  TensorLifetimes tensors_;
  OptimizerState optimizer_;
  std::vector<LibraryWorkspace> libraries_;
};

}  // namespace headroom
