// WorkFamily: kind of work of an operator or a kernel. Operator rules and kernel rules share this
// vocabulary.
#pragma once

#include <optional>
#include <string_view>

namespace headroom {

enum class WorkFamily {
  kUnclassified,
  kMatmul,
  kConvolution,
  /// Fused attention only. Unfused attention appears as matmul, softmax and elementwise.
  kAttention,
  kNormalization,  ///< Batch, layer, group and RMS norm.
  kSoftmax,        ///< Softmax and log-softmax.
  kElementwise,
  kReduction,  ///< Sums, means, norms, arg-max, sorting and prefix sums.
  kPooling,
  kIndexing,  ///< Embedding, gather, scatter, index.
  kLoss,
  kOptimizer,      ///< Fused and foreach parameter updates, gradient unscaling.
  kRandom,         ///< Random numbers and dropout.
  kCopy,           ///< Copies, casts, layout transforms, concatenation; memcpy records.
  kFill,           ///< Constant fill, ranges; memset records.
  kCommunication,  ///< Kernels of collective or one-sided communication libraries.
  kFused,          ///< Compiler-generated (Triton, XLA): several operators in one kernel.
};

/// Returns the lower-case name in reports and rule files: "matmul", "copy", "unclassified"...
std::string_view Name(WorkFamily family);

/// Inverse of Name. Returns nullopt for any other string.
std::optional<WorkFamily> WorkFamilyFromName(std::string_view name);

/// Returns true for families based on matrix products, which tensor cores can run: matmul,
/// convolution and fused attention.
bool MultipliesMatrices(WorkFamily family);

}  // namespace headroom
