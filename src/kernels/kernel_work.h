// One piece of GPU work, described by its shape, independent of any GPU.
#pragma once

#include <cstdint>
#include <variant>

#include "cost/dtype.h"
#include "cost/operator_cost.h"
#include "kernels/kernel_constants.h"

namespace headroom {

/// `batch` products of (m x k) by (k x n).
struct ProductWork {
  double batch = 1, m = 0, k = 0, n = 0;
  bool batched = false;  ///< Called as a batched product, even if the batch is 1.
  /// True if an operand's elements along k are adjacent in memory. This holds for a first operand
  /// that is not transposed, and for a second operand like a linear layer's weight of (n x k).
  bool first_along_k = true, second_along_k = false;
  /// The work includes the conversion of the first operand from 16 bits to the type.
  bool quantizes = false;
};

/// A square convolution without groups, as deep-learning frameworks define it. ConvolutionShape
/// describes all others.
struct ConvolutionWork {
  double batch = 0, in_channels = 0, out_channels = 0;
  double kernel = 0, image = 0, stride = 1, padding = 0;  ///< Elements per side.
  bool plain = true;  ///< Neither dilated nor transposed, with a square kernel.
};

/// Kernels that move data and compute little; bytes counts reads and writes.
struct PointwiseWork {
  double bytes = 0;
  double kernels = 1;
};

/// Operators whose instructions take longer than their bytes on some GPUs.
enum class InstructionKind : std::uint8_t {
  kGelu,       ///< PyTorch's gelu.
  kSiluTimes,  ///< silu(gate) * up in one kernel, from rows of both.
  kRotary,     ///< Rotary position embedding of queries and keys.
  kRmsNorm,    ///< Root-mean-square normalization in one kernel.
  kGather,     ///< Rows of a table by index: an embedding.
  /// A convolution with few channels per group. Its elements are kFewChannelsBase for each result,
  /// and one for each multiplication.
  kFewChannels,
  kFewChannelsGradient,  ///< One gradient of such a convolution, with the same elements.
  /// Batch, group and instance norms, pooling: threads step through a window or a channel. Its
  /// elements are words of four bytes that it reads and writes.
  kStatistics,
};

inline bool IsFewChannels(InstructionKind kind) {
  return kind == InstructionKind::kFewChannels || kind == InstructionKind::kFewChannelsGradient;
}

/// Elements of a result of InstructionKind::kFewChannels, without its multiplications.
inline constexpr double kFewChannelsBase = 17;

/// One kernel that computes `elements` results. `bytes` counts reads and writes.
struct InstructionWork {
  InstructionKind kind = InstructionKind::kGelu;
  double elements = 0, bytes = 0;
};

/// A recurrent network that a library runs as one operator. The directions of a layer run at once;
/// layers and steps wait for each other.
struct RecurrentWork {
  double batch = 0, steps = 0;
  double inputs = 0, hidden = 0;  ///< Elements per step, of the first layer's input and of a state.
  double layers = 1, directions = 1;
  double gates = 4;  ///< 4 for an LSTM, 3 for a GRU, else 1.
  bool backward = false;
};

/// Fused attention over a cache of keys, of one layer in one forward. Each of `queries` new tokens
/// of a sequence attends to all earlier ones.
struct AttentionWork {
  double batch = 0, query_heads = 0, key_heads = 0, head_size = 0;
  double queries = 0, keys = 0;  ///< Per sequence; `keys` includes the new tokens.
  bool causal = true;            ///< Each token attends to itself and to earlier ones only.
  bool backward = false;         ///< The gradients of queries, keys and values.
};

/// Products of a mixture of experts: `rows` routed tokens, evenly among `groups` experts, through a
/// layer to `expert_hidden` (two of them if `gated`) and one back to `hidden`.
struct GroupedWork {
  double rows = 0, groups = 1, hidden = 0, expert_hidden = 0;
  bool gated = true;
};

/// Work on rows in which each result depends on the whole row: softmax or normalization.
struct RowwiseWork {
  double rows = 0, columns = 0;
  bool softmax = false;
};

/// Work on elements of `dtype`. Products and convolutions compute in this type.
struct KernelWork {
  std::variant<ProductWork, ConvolutionWork, PointwiseWork, RowwiseWork, ConvolutionShape,
               RecurrentWork, InstructionWork, AttentionWork, GroupedWork>
      shape;
  DType dtype = DType::kF32;
};

WorkClass ClassOf(const KernelWork& work);

/// Returns the square convolution of equal work per group: a batch for each group, and sides whose
/// squares are the areas.
ConvolutionWork SquareOf(const ConvolutionShape& shape);

/// Returns the floating-point operations of products, convolutions and attention, by their
/// definition. Returns the bytes that other work moves.
double Operations(const KernelWork& work);

/// Changes the type of the work's elements, and with it the bytes that it moves.
void SetType(DType dtype, KernelWork& work);

/// Limit above which times overflow. No GPU has memory for such work.
inline constexpr double kMaxOperations = 1e21;

}  // namespace headroom
