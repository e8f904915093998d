#include "cost/batch_growth.h"

#include <algorithm>

#include "cost/kernel_time.h"
#include "cost/operator_cost.h"
#include "cost/roofline.h"

namespace headroom {
namespace {

/// Shares of the peak that large products sustain, and of the bandwidth.
struct Sustained {
  double gemm, gemm_bytes, convolution;
};

Sustained SustainedIn(DType dtype, bool tensor_cores, const SustainedShares& shares) {
  if (!tensor_cores) return {shares.gemm_vector, shares.gemm_bytes_tf32, shares.convolution_vector};
  if (dtype == DType::kTF32)
    return {shares.gemm_tf32, shares.gemm_bytes_tf32, shares.convolution_tf32};
  return {shares.gemm_16, shares.gemm_bytes_16, shares.convolution_16};
}

}  // namespace

std::optional<double> ShareThatStays(const OperatorCall& call, DType math_dtype, bool tensor_cores,
                                     DurationNs time, std::optional<double> waves,
                                     const DeviceSpec& device) {
  const std::optional<OperatorCost> cost = CostOf(call);
  const std::optional<double> peak = PeakFlopsPerSecond(
      device, math_dtype, tensor_cores ? TensorCoreUse::kYes : TensorCoreUse::kNo);
  if (!cost || !peak || !device.memory_bandwidth_gbs || time.ns() <= 0) return std::nullopt;
  const SustainedShares& shares = device.sustained;
  const Sustained sustained = SustainedIn(math_dtype, tensor_cores, shares);
  double rate = *peak / 1e9;  // FLOPs a nanosecond.
  double least = 0;           // Nanoseconds that grow with the batch.
  double most = 1;
  if (const std::optional<GemmShape> gemm = GemmShapeOf(call)) {
    rate *= sustained.gemm;
    if (tensor_cores && !LayoutOf(call, *gemm, math_dtype).aligned) {
      const std::optional<double> half =
          PeakFlopsPerSecond(device, DType::kF16, TensorCoreUse::kYes);
      if (half) rate = std::min(rate, shares.gemm_misaligned * *half / 1e9);
    }
    least = cost->flops / rate;
    // One of the two operands of a single product is the weights, or the result is their gradient.
    if (gemm->batch > 1) {
      least = std::max(least, cost->bytes / (*device.memory_bandwidth_gbs * sustained.gemm_bytes));
    }
  } else if (ConvolutionShapeOf(call)) {
    const double lost = waves ? shares.lost_when_growing / *waves
                              : shares.convolution_start_us * 1e3 / static_cast<double>(time.ns());
    most = std::min(1.0, lost);
    least = std::max(cost->flops / (rate * sustained.convolution),
                     cost->bytes / (*device.memory_bandwidth_gbs * shares.convolution_bytes));
  } else {
    return std::nullopt;
  }
  return std::clamp(1 - least / static_cast<double>(time.ns()), 0.0, most);
}

}  // namespace headroom
