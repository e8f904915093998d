#include "kernels/attention_time.h"

#include <algorithm>
#include <cmath>

#include "cost/roofline.h"

namespace headroom {
namespace {

constexpr double kSustainedBandwidth = 0.7;
/// Bytes per element of Q moved by the backward's helper kernels, which sum dO x O and convert dQ
/// from float32.
constexpr double kBackwardHelperBytes = 10, kHelperBandwidth = 0.55;
/// Time of kernels that set up random numbers and buffers, including the gaps after them.
constexpr double kForwardStart = 3'000, kBackwardStart = 7'000;  // ns
constexpr double kLargestHead = 256;

}  // namespace

std::optional<DurationNs> FusedAttentionTime(const AttentionShape& shape, bool backward,
                                             DType dtype, const DeviceSpec& device) {
  const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
  if (!half && dtype != DType::kF32) return std::nullopt;
  if (std::max(shape.key_size, shape.value_size) > kLargestHead) return std::nullopt;
  const std::optional<double> vector = PeakFlopsPerSecond(device, DType::kF32, TensorCoreUse::kNo);
  const std::optional<double> tensor =
      half ? PeakFlopsPerSecond(device, dtype, TensorCoreUse::kYes) : vector;
  if (!vector || !tensor || !device.memory_bandwidth_gbs) return std::nullopt;

  const SustainedShares& shares = device.sustained;
  const double sizes =
      backward ? 3 * shape.key_size + 2 * shape.value_size : shape.key_size + shape.value_size;
  const double flops = 2 * shape.Scores() * sizes;
  double compute = 0;  // ns
  if (half) {
    compute =
        flops / (*tensor / 1e9 * (backward ? shares.attention_backward : shares.attention_forward));
    if (shape.dropout) compute += shape.Scores() * shares.attention_dropout_flops / (*vector / 1e9);
  } else {
    compute = flops / (*vector / 1e9 * shares.attention_float32);
  }
  const double query_elements = shape.sequences * shape.queries * shape.key_size;
  const double elements = query_elements + shape.sequences * (shape.keys * shape.key_size +
                                                              shape.keys * shape.value_size +
                                                              shape.queries * shape.value_size);
  const double memory = elements * (half ? 2 : 4) * (backward ? 2 : 1) /
                        (*device.memory_bandwidth_gbs * kSustainedBandwidth);
  double time = std::max(compute, memory) + (backward ? kBackwardStart : kForwardStart);
  if (backward && half) {
    time +=
        query_elements * kBackwardHelperBytes / (*device.memory_bandwidth_gbs * kHelperBandwidth);
  }
  return DurationNs(std::llround(time));
}

}  // namespace headroom
