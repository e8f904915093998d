#include "kernels/batch_growth.h"

#include <algorithm>

#include "cost/operator_cost.h"
#include "cost/roofline.h"
#include "kernels/tensor_core_time.h"

namespace headroom {
namespace {

/// Sustained shares of large products.
struct Sustained {
  /// Shares of the peak; weight_gradient is for convolutions.
  double gemm, convolution, weight_gradient;
  double gemm_bytes;  ///< Share of the bandwidth.
};

Sustained SustainedIn(DType dtype, bool tensor_cores, const SustainedShares& shares) {
  if (!tensor_cores) {
    return {shares.gemm_vector, shares.convolution_vector, shares.convolution_vector,
            shares.gemm_bytes_tf32};
  }
  if (dtype == DType::kTF32) {
    return {shares.gemm_tf32, shares.convolution_tf32, shares.convolution_weight_tf32,
            shares.gemm_bytes_tf32};
  }
  return {shares.gemm_16, shares.convolution_16, shares.convolution_weight_16,
          shares.gemm_bytes_16};
}

/// Bounds on the growing and the constant part of an operator's time.
struct Parts {
  double least_growing_ns = 0;  ///< Minimum of the part that grows with the batch.
  double most_staying = 0;      ///< Maximum of the constant part, as a share of the time.
};

}  // namespace

std::optional<double> ShareThatStays(const OperatorCall& call, const RanAs& ran,
                                     const DeviceSpec& device) {
  const std::optional<OperatorCost> cost = CostOf(call);
  const std::optional<double> peak = PeakFlopsPerSecond(
      device, ran.math_dtype, ran.tensor_cores ? TensorCoreUse::kYes : TensorCoreUse::kNo);
  const auto time = static_cast<double>(ran.time.ns());
  if (!cost || !peak || !device.memory_bandwidth_gbs || time <= 0) return std::nullopt;
  const SustainedShares& shares = device.sustained;
  const Sustained sustained = SustainedIn(ran.math_dtype, ran.tensor_cores, shares);
  const double bandwidth = *device.memory_bandwidth_gbs;  // Bytes per nanosecond.
  double rate = *peak / 1e9;                              // FLOPs per nanosecond.
  // The recorded cost counts float32 operands. Operands of 16 bits move half of those bytes.
  const bool halved = BytesPerElement(ran.math_dtype) == 2 && cost->math_dtype == DType::kF32;
  const double size = halved ? 0.5 : 1;
  Parts parts;
  if (const std::optional<GemmShape> gemm = GemmShapeOf(call)) {
    const GemmLayout layout = LayoutOf(call, *gemm, ran.math_dtype);
    rate *= sustained.gemm;
    if (ran.tensor_cores && !layout.aligned) {
      const std::optional<double> half =
          PeakFlopsPerSecond(device, DType::kF16, TensorCoreUse::kYes);
      if (half) rate = std::min(rate, shares.gemm_misaligned * *half / 1e9);
    }
    parts.least_growing_ns = cost->flops / rate;
    const double byte_ns = size / (bandwidth * sustained.gemm_bytes);
    parts.most_staying = ran.waves ? shares.gemm_lost_when_growing / *ran.waves : 1;
    if (gemm->batch > 1) {
      parts.least_growing_ns = std::max(parts.least_growing_ns, cost->bytes * byte_ns);
    } else {
      // The weights, or their gradient, are read or written once for any batch.
      const auto extent = static_cast<double>(layout.IsOfWeightGradient() ? gemm->m : gemm->k);
      const double weights = extent * static_cast<double>(gemm->n) * BytesPerElement(gemm->dtype);
      parts.most_staying += weights * byte_ns / time;
    }
  } else if (const std::optional<ConvolutionShape> convolution = ConvolutionShapeOf(call)) {
    const double weight_flops = convolution->weight_gradient ? convolution->FlopsPerPart() : 0;
    const double flops_ns = (cost->flops - weight_flops) / (rate * sustained.convolution) +
                            weight_flops / (rate * sustained.weight_gradient);
    parts.least_growing_ns =
        std::max(flops_ns, cost->bytes * size / (bandwidth * shares.convolution_bytes));
    const double kernels = ran.tensor_cores ? ConvolutionKernels(*convolution) : 1;
    parts.most_staying = ran.waves ? shares.convolution_lost_when_growing / *ran.waves
                                   : shares.convolution_start_us * 1e3 * kernels / time;
  } else if (IsRecurrent(call.name)) {
    // Steps wait for each other, and each step runs one batch of blocks.
    parts.least_growing_ns = cost->flops / (rate * sustained.gemm);
    parts.most_staying = 1;
  } else {
    return std::nullopt;
  }
  return std::clamp(1 - parts.least_growing_ns / time, 0.0, std::min(1.0, parts.most_staying));
}

}  // namespace headroom
