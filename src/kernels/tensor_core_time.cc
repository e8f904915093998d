#include "kernels/tensor_core_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "cost/operator_args.h"
#include "cost/roofline.h"
#include "kernels/tensor_core_gemm.h"

namespace headroom {
namespace {

double ElementBytes(DType dtype) { return dtype == DType::kTF32 ? 4 : 2; }

/// FLOPs and bytes per nanosecond.
struct Rates {
  double flops, bytes;
};

/// @param sustained  share of the peak that the device's power sustains
std::optional<Rates> RatesOf(const DeviceSpec& device, DType dtype, double sustained = 1) {
  const std::optional<double> peak = PeakFlopsPerSecond(device, dtype, TensorCoreUse::kYes);
  if (!IsTensorCoreType(dtype) || !peak || !device.memory_bandwidth_gbs) return std::nullopt;
  return Rates{*peak / 1e9 * sustained, *device.memory_bandwidth_gbs};
}

/// Returns the number of tiles of a product. Computes in double, because extents from a damaged
/// file could overflow int64.
double TilesOf(const GemmShape& shape, std::int64_t tile_m, std::int64_t tile_n) {
  const auto up = [](std::int64_t extent, std::int64_t tile) {
    return std::ceil(static_cast<double>(extent) / static_cast<double>(tile));
  };
  return static_cast<double>(shape.batch) * up(shape.m, tile_m) * up(shape.n, tile_n);
}

/// Returns the useful share of the device's work for a product in tiles. The tiles run in waves,
/// one per multiprocessor.
double UsefulShare(const GemmShape& shape, std::int64_t tile_m, std::int64_t tile_n,
                   std::int64_t processors) {
  const double waves = std::ceil(TilesOf(shape, tile_m, tile_n) / static_cast<double>(processors));
  const double useful = static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
                        static_cast<double>(shape.n);
  return useful / (waves * static_cast<double>(processors) * static_cast<double>(tile_m * tile_n));
}

/// Channels of a convolution that fill half a tile.
constexpr std::int64_t kNarrowExtent = 64;
/// Number of kernels of a convolution that reorders: two for its operands, one for the product, and
/// one for the result.
constexpr double kReorderingKernels = 4;

constexpr double kMicrosecond = 1e3;  // ns

double Product(const std::vector<std::int64_t>& extents) {
  double product = 1;
  for (const std::int64_t extent : extents) product *= static_cast<double>(extent);
  return product;
}

/// Returns the elements of a plane, clamped to a safe range because extents can be damaged.
std::int64_t PlaneOf(const std::vector<std::int64_t>& extents) {
  constexpr double kMax = 1e15;
  return static_cast<std::int64_t>(std::clamp(Product(extents), 0.0, kMax));
}

/// Returns true if a convolution is a product over its activations in their memory order.
bool LiesAsProduct(const ConvolutionShape& shape, ActivationOrder order) {
  const bool pointwise = Product(shape.kernel) == 1 && shape.in == shape.out;
  return order == ActivationOrder::kChannelsLast ||
         (pointwise && std::fmod(Product(shape.out), 2) == 0);
}

}  // namespace

double ConvolutionKernels(const ConvolutionShape& shape) {
  const int gradients = (shape.data_gradient ? 1 : 0) + (shape.weight_gradient ? 1 : 0);
  return std::max(1, gradients) *
         (LiesAsProduct(shape, ActivationOrder::kChannelsFirst) ? 1 : kReorderingKernels);
}

std::optional<DurationNs> TensorCoreConvolutionTime(const ConvolutionShape& shape, DType dtype,
                                                    const DeviceSpec& device, ActivationOrder order,
                                                    double sustained) {
  const std::optional<Rates> rates = RatesOf(device, dtype, sustained);
  const std::optional<Rates> half = RatesOf(device, DType::kF16, sustained);
  if (!rates || !half || !device.sm_count ||
      std::min({shape.batch, shape.in_channels, shape.out_channels, shape.groups}) <= 0)
    return std::nullopt;
  const SustainedShares& shares = device.sustained;
  const auto processors = static_cast<std::int64_t>(*device.sm_count);
  const bool tf32 = dtype == DType::kTF32;
  const double size = ElementBytes(dtype);
  // Tensor cores process channels in groups of eight.
  const std::int64_t channels =
      std::max<std::int64_t>(8, shape.in_channels / shape.groups) * shape.groups;
  const auto in_plane = PlaneOf(shape.in);
  const auto out_plane = PlaneOf(shape.out);
  const auto taps = static_cast<std::int64_t>(Product(shape.kernel));
  const double batch = static_cast<double>(shape.batch);
  const double activations =
      batch * (static_cast<double>(channels) * static_cast<double>(in_plane) +
               static_cast<double>(shape.out_channels) * static_cast<double>(out_plane));
  const double weights = static_cast<double>(shape.out_channels) *
                         (static_cast<double>(channels) / static_cast<double>(shape.groups)) *
                         static_cast<double>(taps);
  const auto multiple = static_cast<std::int64_t>(16 / size);
  const bool channels_last = order == ActivationOrder::kChannelsLast;
  const bool as_it_lies = LiesAsProduct(shape, order);
  // With channels last, missing channels are padded.
  const bool aligned = channels_last || !as_it_lies || out_plane % multiple == 0;

  const double start =
      shares.convolution_start_us * kMicrosecond * (as_it_lies ? 1 : kReorderingKernels);

  const double full_rate = FullTensorRate(device);
  // Time of a product [m, n] over k with tiles that fit its narrow side. Without reordering, each
  // sample is a separate product. Batch and groups are bounded where shapes are read
  // (convolution_cost.cc).
  const auto part = [&](double m, double n, double share) {
    if (n <= static_cast<double>(kNarrowExtent)) share *= shares.convolution_narrow;
    double rate = rates->flops * std::min(1.0, full_rate * share);
    const bool by_sample = as_it_lies && !channels_last;
    const GemmShape product = {.batch = by_sample ? shape.groups * shape.batch : shape.groups,
                               .m = by_sample ? out_plane : static_cast<std::int64_t>(m),
                               .n = static_cast<std::int64_t>(n),
                               .k = 1};
    const double wide = UsefulShare(product, 128, 128, processors);
    const double narrow = std::max(UsefulShare(product, 128, 64, processors),
                                   UsefulShare(product, 64, 128, processors));
    rate *= std::max(wide, narrow);
    if (!aligned) rate = std::min(rate, shares.gemm_misaligned * half->flops);
    const double flops = shape.FlopsPerPart() * static_cast<double>(channels) /
                         static_cast<double>(shape.in_channels);
    const double compute = flops / rate;
    const double memory =
        (activations + weights) * size / (rates->bytes * shares.convolution_bytes);
    const double reorder =
        as_it_lies ? 0
                   : 2 * activations * size /
                         (rates->bytes * (tf32 ? shares.reorder_tf32 : shares.reorder_16));
    return start + std::pow(std::pow(compute, 4) + std::pow(memory, 4), 0.25) + reorder;
  };
  const double groups = static_cast<double>(shape.groups);
  const double in = static_cast<double>(channels) / groups,
               out = static_cast<double>(shape.out_channels) / groups;
  const double share = tf32 ? shares.convolution_tf32 : shares.convolution_16;
  double time = 0;
  if (shape.data_gradient) time += part(batch * static_cast<double>(in_plane), in, share);
  if (shape.weight_gradient) {
    // The few results have long sums. The library splits the sums, so that all multiprocessors have
    // work.
    double rate =
        rates->flops * (tf32 ? shares.convolution_weight_tf32 : shares.convolution_weight_16);
    if (std::min(in * static_cast<double>(taps), out) <= static_cast<double>(kNarrowExtent))
      rate *= shares.convolution_narrow;
    if (!aligned) rate = std::min(rate, shares.gemm_misaligned * half->flops);
    const double compute = shape.FlopsPerPart() * static_cast<double>(channels) /
                           static_cast<double>(shape.in_channels) / rate;
    const double memory =
        (activations + weights) * size / (rates->bytes * shares.convolution_bytes);
    time += start + std::pow(std::pow(compute, 4) + std::pow(memory, 4), 0.25);
    if (!as_it_lies)
      time += 2 * activations * size /
              (rates->bytes * (tf32 ? shares.reorder_tf32 : shares.reorder_16));
  }
  if (!shape.data_gradient && !shape.weight_gradient)
    time = part(batch * static_cast<double>(out_plane), out, share);
  return DurationNs(std::llround(time));
}

}  // namespace headroom
