// Times of fused attention on a GPU: one kernel that never writes the scores to memory.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"

namespace headroom {

/// Shape of softmax(Q K^T) V: `sequences` is batch times heads, each with `queries` by `keys`
/// scores.
struct AttentionShape {
  double sequences = 0, queries = 0, keys = 0;
  double key_size = 0, value_size = 0;  ///< Elements per head.
  bool causal = false;                  ///< True to skip half of the products and scores.
  /// Generates one random number per score, forward and backward.
  bool dropout = false;

  double Scores() const { return sequences * queries * keys * (causal ? 0.5 : 1); }
};

/// Returns the time of the forward or the backward, including the small helper kernels. Returns
/// nullopt if `dtype` is not listed below, if a head exceeds the kernels' maximum of 256, or if a
/// peak is unknown.
///
/// - kF16 and kBF16 on tensor cores: t = t0 + F / (share of the peak) + the time of dropout's
///   random numbers. F is the number of FLOPs (cost/attention_cost.cc). Vector units generate the
///   random numbers. The backward also sums dO x O and converts dQ, both memory-bound.
/// - kF32: the memory-efficient kernel at a share of the vector units' peak.
/// The time is at least the time to read Q, K and V and to write O.
///
/// Source: the costs of dropout and of the helper kernels were measured on one H200 with cuDNN
/// 9.19, for two shapes with heads of 64. The shapes took 60 and 33 us forward, and 102 and 61 us
/// backward; the model is within 7 %. The share of the peak without dropout is from Shah et al.,
/// "FlashAttention-3" (2024), figures 5 and 6, for sequences of about 1000.
std::optional<DurationNs> FusedAttentionTime(const AttentionShape& shape, bool backward,
                                             DType dtype, const DeviceSpec& device);

}  // namespace headroom
