#include "cost/kernel_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "cost/operator_args.h"
#include "cost/roofline.h"

namespace headroom {
namespace {

double ElementBytes(DType dtype) { return dtype == DType::kTF32 ? 4 : 2; }

bool OnTensorCores(DType dtype) {
  return dtype == DType::kTF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Peak and bandwidth, per nanosecond.
struct Rates {
  double flops, bytes;
};

std::optional<Rates> RatesOf(const DeviceSpec& device, DType dtype) {
  const std::optional<double> peak = PeakFlopsPerSecond(device, dtype, TensorCoreUse::kYes);
  if (!OnTensorCores(dtype) || !peak || !device.memory_bandwidth_gbs) return std::nullopt;
  return Rates{*peak / 1e9, *device.memory_bandwidth_gbs};
}

std::int64_t DivideUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// The share of the device's work that is of use, where a product is cut into tiles that run in
/// waves, one a multiprocessor.
double UsefulShare(const GemmShape& shape, std::int64_t tile_m, std::int64_t tile_n,
                   std::int64_t processors) {
  const std::int64_t tiles = shape.batch * DivideUp(shape.m, tile_m) * DivideUp(shape.n, tile_n);
  const double waves = static_cast<double>(DivideUp(tiles, processors));
  const double useful = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                        static_cast<double>(shape.n);
  return useful / (waves * static_cast<double>(processors) * static_cast<double>(tile_m * tile_n));
}

// Sustained shares of the peak and of the bandwidth.
constexpr double kGemmShare16 = 0.77, kGemmShareTf32 = 0.78;
constexpr double kGemmBytes16 = 0.79, kGemmBytesTf32 = 0.73;
constexpr double kWeightGradientTf32 = 0.8;
constexpr double kSplitAlongK = 0.6;
/// Of the 16-bit peak, where rows begin at odd addresses: no wide loads.
constexpr double kMisalignedShare = 0.126;
constexpr double kGemmStart = 3'000;  // ns

/// How a convolution of a kind runs.
struct ConvolutionRates {
  double flops, bytes;  ///< Shares of peak and bandwidth.
};
constexpr ConvolutionRates kPointwise16 = {0.927, 0.95}, kPointwiseEven16 = {0.518, 0.217},
                           kReordered16 = {0.516, 0.188};
constexpr ConvolutionRates kPointwiseTf32 = {0.722, 1.04}, kPointwiseEvenTf32 = {0.270, 4.2},
                           kReorderedTf32 = {0.535, 0.26};
constexpr double kConvolutionStart16 = 2'400, kConvolutionStartTf32 = 4'900;  // ns

double Product(const std::vector<std::int64_t>& extents) {
  double product = 1;
  for (const std::int64_t extent : extents) product *= static_cast<double>(extent);
  return product;
}

}  // namespace

GemmLayout LayoutOf(const OperatorCall& call, const GemmShape& shape, DType dtype) {
  GemmLayout layout;
  const auto multiple = static_cast<std::int64_t>(16 / ElementBytes(dtype));
  const bool has_addend = call.name == "aten::addmm" || call.name == "aten::baddbmm";
  const auto transposed = [&](std::size_t index) {
    const TensorArg* tensor = TensorAt(call, index);
    if (tensor == nullptr || tensor->strides.size() < 2) return false;
    const std::size_t rank = tensor->strides.size();
    return tensor->strides[rank - 2] == 1 && tensor->strides[rank - 1] != 1;
  };
  const bool a = transposed(has_addend ? 1 : 0), b = transposed(has_addend ? 2 : 1);
  layout.transposed_first = a && !b;
  layout.aligned = (a ? shape.m : shape.k) % multiple == 0 &&
                   (b ? shape.k : shape.n) % multiple == 0 && shape.n % multiple == 0;
  return layout;
}

std::optional<DurationNs> TensorCoreGemmTime(const GemmShape& shape, const GemmLayout& layout,
                                             DType dtype, const DeviceSpec& device) {
  const std::optional<Rates> rates = RatesOf(device, dtype);
  if (!rates || !device.sm_count || shape.m <= 0 || shape.n <= 0 || shape.k <= 0)
    return std::nullopt;
  const auto processors = static_cast<std::int64_t>(*device.sm_count);
  const bool tf32 = dtype == DType::kTF32;
  double rate = rates->flops;
  if (tf32) {
    rate *= kGemmShareTf32;
    if (layout.transposed_first) rate *= kWeightGradientTf32;
    const std::int64_t tiles = shape.batch * DivideUp(shape.m, 128) * DivideUp(shape.n, 128);
    // Too few tiles for all processors: the product is split along k instead.
    rate *= tiles < processors ? kSplitAlongK : UsefulShare(shape, 128, 128, processors);
  } else {
    constexpr std::array<std::array<std::int64_t, 2>, 6> kTiles = {
        {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128}, {64, 64}}};
    double best = 0;
    for (const auto& [m, n] : kTiles) best = std::max(best, UsefulShare(shape, m, n, processors));
    rate *= kGemmShare16 * best;
  }
  if (!layout.aligned) {
    const std::optional<Rates> half = RatesOf(device, DType::kF16);
    if (half) rate = std::min(rate, kMisalignedShare * half->flops);
  }
  const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
               k = static_cast<double>(shape.k), batch = static_cast<double>(shape.batch);
  const double compute = 2 * batch * m * n * k / rate;
  const double memory = batch * (m * k + k * n + m * n) * ElementBytes(dtype) /
                        (rates->bytes * (tf32 ? kGemmBytesTf32 : kGemmBytes16));
  const double time = std::pow(std::pow(compute, 4) + std::pow(memory, 4), 0.25);
  return DurationNs(std::llround(kGemmStart + time));
}

std::optional<DurationNs> TensorCoreConvolutionTime(const ConvolutionShape& shape, DType dtype,
                                                    const DeviceSpec& device) {
  const std::optional<Rates> rates = RatesOf(device, dtype);
  if (!rates) return std::nullopt;
  const bool tf32 = dtype == DType::kTF32;
  const double plane = Product(shape.out);
  const bool pointwise = Product(shape.kernel) == 1 && shape.in == shape.out;
  const auto even = static_cast<std::int64_t>(plane);
  const ConvolutionRates& shares =
      pointwise && even % 8 == 0   ? (tf32 ? kPointwiseTf32 : kPointwise16)
      : pointwise && even % 2 == 0 ? (tf32 ? kPointwiseEvenTf32 : kPointwiseEven16)
                                   : (tf32 ? kReorderedTf32 : kReordered16);
  // Tensor cores take channels by eight.
  const double channels = static_cast<double>(std::max<std::int64_t>(shape.in_channels, 8));
  const double flops = shape.FlopsPerPart() * channels / static_cast<double>(shape.in_channels);
  const double batch = static_cast<double>(shape.batch);
  const double elements = batch * channels * Product(shape.in) +
                          batch * static_cast<double>(shape.out_channels) * plane +
                          static_cast<double>(shape.out_channels) * channels /
                              static_cast<double>(shape.groups) * Product(shape.kernel);
  return DurationNs(std::llround(flops / (rates->flops * shares.flops) +
                                 elements * ElementBytes(dtype) / (rates->bytes * shares.bytes) +
                                 (tf32 ? kConvolutionStartTf32 : kConvolutionStart16)));
}

}  // namespace headroom
