#include "kernels/fused_kernel_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/units.h"
#include "cost/roofline.h"
#include "kernels/memory_time.h"
#include "kernels/overlap.h"

namespace headroom {
namespace {

/// Measured behaviour of one kind of kernel.
struct InstructionCost {
  double start_clocks;        ///< Start and end of the kernel.
  double clocks_per_element;  ///< Clocks of one multiprocessor.
  double overlap;             ///< Order of the norm (Overlapped()).
};

/// In the order of InstructionKind. PyTorch gathers rows with vectors of 16 bytes since 2.7;
/// before, its kernel took seven times as long.
constexpr std::array<InstructionCost, 8> kInstructionCosts = {{
    {.start_clocks = 2500, .clocks_per_element = 0.4, .overlap = 4},
    {.start_clocks = 5000, .clocks_per_element = 0.86, .overlap = 6},
    {.start_clocks = 4000, .clocks_per_element = 0.67, .overlap = 3},
    {.start_clocks = 6000, .clocks_per_element = 0.57, .overlap = 1.5},
    {.start_clocks = 4500, .clocks_per_element = 0.25, .overlap = 4},
    {.start_clocks = 4500, .clocks_per_element = 0.15, .overlap = 4},
    // Both gradients together take 2.5 times as long as the forward in float32, in any type.
    {.start_clocks = 4500, .clocks_per_element = 0.19, .overlap = 4},
    {.start_clocks = 4500, .clocks_per_element = 0.8, .overlap = 4},
}};

double MultiprocessorClocksPerNs(const DeviceRates& rates) {
  constexpr double kMultiplyAndAdd = 2;
  return rates.flops_per_ns / (kMultiplyAndAdd * rates.lanes);
}

/// Returns true if attention kernels of the architecture copy and multiply asynchronously, in one
/// block per tile of queries (FlashAttention-3).
bool IsAsynchronous(const DeviceRates& rates) {
  return rates.device->architecture == "Hopper" || rates.device->architecture == "Blackwell";
}

}  // namespace

double InstructionNs(const InstructionWork& work, DType dtype, const DeviceRates& rates) {
  const InstructionCost& cost = kInstructionCosts[static_cast<std::size_t>(work.kind)];
  const double clocks = MultiprocessorClocksPerNs(rates);
  const double bytes = PointwiseNs({.bytes = work.bytes}, rates);
  // cuDNN's depthwise kernels in 16 bits compute packed pairs and keep rows in registers (image
  // models of gpu-modern/).
  constexpr double kPacked = 0.25;
  const bool packed = work.kind == InstructionKind::kFewChannels && dtype != DType::kF32;
  const double instructions =
      work.elements * cost.clocks_per_element * (packed ? kPacked : 1) / clocks;
  return cost.start_clocks * rates.processors / clocks +
         Overlapped(bytes, instructions, cost.overlap);
}

double AttentionFlops(const AttentionWork& work) {
  const double earlier = std::max(0.0, work.keys - work.queries);
  const double scores = work.causal ? work.queries * earlier + work.queries * (work.queries + 1) / 2
                                    : work.queries * work.keys;
  constexpr double kForwardProducts = 2, kBackwardProducts = 5, kMultiplyAndAdd = 2;
  const double kProducts = work.backward ? kBackwardProducts : kForwardProducts;
  return kProducts * kMultiplyAndAdd * work.batch * work.query_heads * work.head_size * scores;
}

double AttentionBytes(const AttentionWork& work, DType dtype) {
  // Queries and results; keys and values.
  return (work.backward ? 4 : 2) * BytesPerElement(dtype) * work.batch * work.head_size *
         (work.queries * work.query_heads + work.keys * work.key_heads);
}

std::optional<double> AttentionNs(const AttentionWork& work, DType dtype,
                                  const DeviceRates& rates) {
  const std::optional<double> peak = PeakFlopsPerSecond(*rates.device, dtype, TensorCoreUse::kYes);
  if (!peak) return std::nullopt;
  const double flops_per_ns = *peak / kNsPerS * rates.clock_share;
  const double memory = PointwiseNs({.bytes = AttentionBytes(work, dtype)}, rates);
  // Longer caches are read in parts, which a second kernel joins.
  constexpr double kOnePart = 128;
  const double start = (work.queries <= 1 && work.keys <= kOnePart ? 7 : 10) * kNsPerUs;
  if (work.queries <= 1) {
    // Each block of a sequence and key head takes at least its start and end.
    constexpr double kBlockClocks = 6'500, kOverlap = 2;
    const double clocks = MultiprocessorClocksPerNs(rates);
    const double blocks = work.batch * work.key_heads * kBlockClocks / clocks;
    return start + Overlapped(memory, blocks, kOverlap);
  }

  constexpr double kTile = 128;  // Queries, of all heads that share a key.
  const bool asynchronous = IsAsynchronous(rates);
  // Shares of the peak, of the device and of one multiprocessor. With all at work, power and the
  // L2 are shared.
  const double device_share = asynchronous ? 0.5 : 0.4, block_share = asynchronous ? 0.65 : 0.25;
  const double sharing = work.query_heads / work.key_heads;
  const double tiles = std::ceil(work.queries * sharing / kTile);
  const double blocks = tiles * work.key_heads * work.batch;
  const double earlier = std::max(0.0, work.keys - work.queries);
  // The mean tile ends half a tile after the mean query.
  const double mean_keys =
      work.causal ? std::min(work.keys, earlier + (work.queries + kTile / sharing) / 2) : work.keys;
  double step = 4 * kTile * work.head_size;  // FLOPs per key.
  // The backward has five products for the forward's two, at a lower rate.
  constexpr double kBackwardSteps = 3;
  if (work.backward) step *= kBackwardSteps;
  const double all = blocks * mean_keys * step / (flops_per_ns * device_share);
  double longest = work.keys * step * rates.processors / (flops_per_ns * block_share);
  constexpr double kMaxParts = 8;
  if (!asynchronous) longest *= std::clamp(blocks / rates.processors, 1 / kMaxParts, 1.0);
  return start + std::max({all, longest, memory});
}

}  // namespace headroom
