// How long fused attention takes on a GPU: one kernel that never writes the scores.
#pragma once

#include <optional>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"

namespace headroom {

/// softmax(Q K^T) V for `sequences` (batch times heads) of `queries` by `keys`.
struct AttentionShape {
  double sequences = 0, queries = 0, keys = 0;
  double key_size = 0, value_size = 0;  ///< Of one head.
  bool causal = false;                  ///< Half of the products and scores is skipped.
  bool dropout = false;                 ///< A random number a score, in either direction.

  double Scores() const { return sequences * queries * keys * (causal ? 0.5 : 1); }
};

/// Time of the forward or of the backward, with the small kernels that go with it.
///
/// kF16, kBF16 on tensor cores: t = t0 + F / (share of the peak) + the random numbers of dropout,
/// which ordinary arithmetic makes, with F from cost/attention_cost.cc; backward also sums dO x O
/// and converts dQ, bound by memory. kF32: the memory-efficient kernel at a share of the ordinary
/// peak. Never less than reading Q, K, V and writing O takes. nullopt for other types, for heads
/// larger than the kernels take (256), and where a peak is not known.
///
/// Source: dropout and overheads measured on one H200 (cuDNN 9.19, two shapes with heads of 64: 60
/// and 33 us forward, 102 and 61 us backward, within 7 %); the share of the peak without dropout
/// from Shah et al., "FlashAttention-3" (2024), figures 5 and 6, for sequences of about 1000.
std::optional<DurationNs> FusedAttentionTime(const AttentionShape& shape, bool backward,
                                             DType dtype, const DeviceSpec& device);

}  // namespace headroom
