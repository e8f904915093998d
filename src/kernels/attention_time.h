// Times of fused attention on a GPU: one kernel that never writes the scores to memory.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"

namespace headroom {

/// softmax(Q K^T) V for `sequences` (batch times heads) of `queries` by `keys`.
struct AttentionShape {
  double sequences = 0, queries = 0, keys = 0;
  double key_size = 0, value_size = 0;  ///< Per head.
  bool causal = false;                  ///< Skips half of the products and scores.
  bool dropout = false;                 ///< Draws one random number per score, in both directions.

  double Scores() const { return sequences * queries * keys * (causal ? 0.5 : 1); }
};

/// Returns the time of the forward or the backward, including the small helper kernels. Returns
/// nullopt for other types, for heads larger than the kernels support (256), and if a peak is
/// unknown.
///
/// kF16, kBF16 on tensor cores: t = t0 + F / (share of the peak) + the time of dropout's random
/// numbers. Ordinary arithmetic units make these numbers; F comes from cost/attention_cost.cc. The
/// backward also sums dO x O and converts dQ, both memory-bound.
/// kF32: the memory-efficient kernel at a share of the ordinary peak.
/// The time is at least that of reading Q, K, V and writing O.
///
/// Source: dropout and overheads were measured on one H200 with cuDNN 9.19, for two shapes with
/// heads of 64. They took 60 and 33 us forward, 102 and 61 us backward; the model is within 7 %.
/// The share of the peak without dropout is from Shah et al., "FlashAttention-3" (2024), figures 5
/// and 6, for sequences of about 1000.
std::optional<DurationNs> FusedAttentionTime(const AttentionShape& shape, bool backward,
                                             DType dtype, const DeviceSpec& device);

}  // namespace headroom
