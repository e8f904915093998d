#include "kernels/tensor_core_gemm.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "cost/operator_args.h"
#include "cost/roofline.h"
#include "kernels/overlap.h"

namespace headroom {
namespace {

/// Part of the result that one block computes.
struct TensorTile {
  double rows, columns;
};

/// Tiles of cuBLAS's kernels up to Ada, by their names in traces (ampere_fp16_s16816gemm_fp16_...).
constexpr std::array kCoarseTiles = {
    TensorTile{256, 128}, TensorTile{128, 256}, TensorTile{128, 128}, TensorTile{128, 64},
    TensorTile{64, 128},  TensorTile{64, 64},   TensorTile{64, 256},  TensorTile{256, 64},
    TensorTile{32, 64},   TensorTile{32, 128},  TensorTile{16, 64},   TensorTile{16, 128}};

/// Further tiles of Hopper's kernels (nvjet_hsh_192x128_64x5_...).
constexpr std::array kFineTiles = {
    TensorTile{256, 128}, TensorTile{128, 256}, TensorTile{128, 128}, TensorTile{128, 64},
    TensorTile{64, 128},  TensorTile{64, 64},   TensorTile{64, 256},  TensorTile{256, 64},
    TensorTile{32, 64},   TensorTile{32, 128},  TensorTile{16, 64},   TensorTile{16, 128},
    TensorTile{192, 128}, TensorTile{128, 192}, TensorTile{192, 192}, TensorTile{128, 160},
    TensorTile{160, 128}, TensorTile{128, 96},  TensorTile{96, 128},  TensorTile{96, 64},
    TensorTile{64, 96},   TensorTile{256, 192}, TensorTile{192, 256}, TensorTile{256, 160},
    TensorTile{160, 256}, TensorTile{320, 128}, TensorTile{128, 320}, TensorTile{64, 192},
    TensorTile{192, 64}};

/// Parts that the library can split the sum over k into, and the least elements of a part.
constexpr std::array kSumSplits = {1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0};
constexpr double kLeastPart = 128;
/// Elements of k per iteration of a kernel's loop.
constexpr double kLoopStep = 32;

constexpr double kUsualTile = 128 * 128;
constexpr double kMaxResidentBlocks = 2;

/// Kernels of an architecture's library for a type.
struct TensorTiles {
  std::span<const TensorTile> tiles;
  double multicast = 1;
};

TensorTiles TilesFor(const DeviceSpec& device, DType dtype, const TensorCoreConstants& constants) {
  const bool clusters = device.architecture == "Hopper" || device.architecture == "Blackwell";
  if (!clusters || dtype == DType::kF8) return {.tiles = kCoarseTiles};
  // TF32 kernels have the fine tiles but read each operand for every block.
  return {.tiles = kFineTiles, .multicast = dtype == DType::kTF32 ? 1 : constants.multicast};
}

/// Extents of a product, and the bytes of its elements.
struct GemmProblem {
  double batch, m, n, k;
  double operand_bytes, result_bytes;  ///< Per element.
};

/// The device's rates per nanosecond.
struct GemmRates {
  double processors;
  double clock_ghz;
  double processor_flops;  ///< FLOPs of one multiprocessor at the boost clock.
  double sustained_flops;  ///< FLOPs of the device at its power limit.
  double bytes;
  double efficiency = 1;  ///< Factor on the shares of the peak.
};

double TensorTileNs(const GemmProblem& p, const TensorTile& tile, double split,
                    const TensorTiles& library, const GemmRates& rates,
                    const TensorCoreConstants& constants, double best) {
  const double area = tile.rows * tile.columns;
  const double tiles = p.batch * std::ceil(p.m / tile.rows) * std::ceil(p.n / tile.columns);
  const double depth = std::ceil(p.k / split / kLoopStep) * kLoopStep;
  const double blocks = tiles * split;
  const double waves = std::ceil(blocks / rates.processors - 1e-9);
  const double efficiency =
      std::min(1.0, rates.efficiency *
                        std::min(constants.most_efficiency,
                                 constants.efficiency *
                                     std::pow(area / kUsualTile, constants.efficiency_exponent)));
  const double ends = constants.end_clocks / rates.clock_ghz *
                      std::pow(std::min(1.0, area / kUsualTile), constants.end_exponent);
  const double flops = 2 * area * depth;
  double tile_ns = flops / (rates.processor_flops * efficiency) + ends;
  if (p.batch > 1) {
    // Small blocks of many products run on a multiprocessor at once, and hide each other's ends.
    const double resident = std::clamp(
        kUsualTile / area, 1.0, std::clamp(blocks / rates.processors, 1.0, kMaxResidentBlocks));
    tile_ns =
        std::max(tile_ns / resident, flops / (rates.processor_flops * constants.most_efficiency));
  }
  const double compute = waves * tile_ns;
  if (compute >= best) return compute;
  const double power = 2 * p.batch * p.m * p.n * p.k / rates.sustained_flops;

  constexpr double kPartBytes = 4;  // Parts of a sum are written and read in float32.
  const double bytes =
      p.batch * (p.operand_bytes * (p.m * p.k + p.k * p.n) + p.result_bytes * p.m * p.n +
                 (split > 1 ? 2 * kPartBytes * split * p.m * p.n : 0));
  const double busy = std::min(blocks, rates.processors);
  const double memory =
      bytes / std::min(rates.bytes, busy * constants.processor_bytes * rates.clock_ghz);
  const double l2 = p.operand_bytes * waves * busy / split * (tile.rows + tile.columns) * p.k /
                    (constants.l2_bytes * library.multicast * rates.processors * rates.clock_ghz);
  const double ns = Overlapped(Overlapped(std::max(compute, power), memory, constants.overlap), l2,
                               constants.overlap);
  return ns + (split > 1 ? constants.split_clocks / rates.clock_ghz : 0);
}

/// The clock at which the peak is stated, in GHz; typical if unknown.
double PeakClockGhz(const DeviceSpec& device) {
  constexpr double kMhzPerGhz = 1e3, kUsualMhz = 1500;
  return device.boost_clock_mhz.value_or(kUsualMhz) / kMhzPerGhz;
}

std::optional<double> PeakPerNs(const DeviceSpec& device, DType dtype) {
  const std::optional<double> peak = PeakFlopsPerSecond(device, dtype, TensorCoreUse::kYes);
  if (!peak) return std::nullopt;
  return *peak / 1e9;
}

}  // namespace

GemmLayout LayoutOf(const OperatorCall& call, const GemmShape& shape, DType dtype) {
  GemmLayout layout;
  constexpr std::int64_t kAlignment = 16;  // Bytes.
  const auto multiple = kAlignment / (dtype == DType::kTF32 ? 4 : 2);
  const bool has_addend = call.name == "aten::addmm" || call.name == "aten::baddbmm";
  const auto transposed = [&](std::size_t index) {
    const TensorArg* tensor = TensorAt(call, index);
    if (tensor == nullptr || tensor->strides.size() < 2) return false;
    const std::size_t rank = tensor->strides.size();
    return tensor->strides[rank - 2] == 1 && tensor->strides[rank - 1] != 1;
  };
  const bool a = transposed(has_addend ? 1 : 0), b = transposed(has_addend ? 2 : 1);
  layout.transposed_first = a;
  layout.transposed_second = b;
  layout.aligned = (a ? shape.m : shape.k) % multiple == 0 &&
                   (b ? shape.k : shape.n) % multiple == 0 && shape.n % multiple == 0;
  return layout;
}

double FullTensorRate(const DeviceSpec& device) {
  if (!device.int8_tensor_tops || !device.fp16_tensor_tflops || device.vendor != "NVIDIA") return 1;
  constexpr double kInt8 = 2, kHalved = 1.5;
  const double full = *device.int8_tensor_tops / kInt8 / *device.fp16_tensor_tflops;
  return full > kHalved ? full : 1;
}

std::optional<DurationNs> TensorCoreGemmTime(const GemmShape& shape, const GemmLayout& layout,
                                             DType dtype, const DeviceSpec& device,
                                             double sustained,
                                             const TensorCoreConstants& constants) {
  const std::optional<double> peak = PeakPerNs(device, dtype);
  const bool eight = dtype == DType::kF8, tf32 = dtype == DType::kTF32;
  if ((!IsTensorCoreType(dtype) && !eight) || !peak || !device.memory_bandwidth_gbs ||
      !device.sm_count || std::min({shape.batch, shape.m, shape.n, shape.k}) <= 0)
    return std::nullopt;
  const SustainedShares& shares = device.sustained;
  GemmProblem problem = {.batch = static_cast<double>(shape.batch),
                         .m = static_cast<double>(shape.m),
                         .n = static_cast<double>(shape.n),
                         .k = static_cast<double>(shape.k),
                         .operand_bytes = tf32    ? 4.0
                                          : eight ? 1.0
                                                  : 2.0,
                         .result_bytes = tf32 ? 4.0 : 2.0};
  const double power = eight ? shares.gemm_8 : tf32 ? shares.gemm_tf32 : shares.gemm_16;
  const double bytes = tf32 ? shares.gemm_bytes_tf32 : shares.gemm_bytes_16;
  const double full = FullTensorRate(device);
  const double clock = std::max(1.0, sustained);  // A consumer card exceeds its boost clock.
  GemmRates rates = {.processors = *device.sm_count,
                     .clock_ghz = PeakClockGhz(device),
                     .processor_flops = *peak * clock / *device.sm_count,
                     .sustained_flops = *peak * std::min(clock, full * power * sustained),
                     .bytes = *device.memory_bandwidth_gbs * bytes,
                     .efficiency = full};
  if (tf32) rates.efficiency *= shares.gemm_efficiency_tf32;
  if (tf32 && layout.IsOfWeightGradient()) {
    rates.efficiency *= shares.gemm_weight_gradient_tf32;
    rates.sustained_flops *= shares.gemm_weight_gradient_tf32;
  }
  if (!layout.aligned) {
    // Kernels that read single elements reach this share of the 16-bit peak in every type.
    const double least = shares.gemm_misaligned * PeakPerNs(device, DType::kF16).value_or(*peak);
    const double share =
        std::min(1.0, least / (*peak * constants.most_efficiency * rates.efficiency));
    rates.efficiency *= share;
    rates.sustained_flops = std::min(rates.sustained_flops, least);
  }
  const TensorTiles library = TilesFor(device, dtype, constants);
  double best = std::numeric_limits<double>::infinity();
  for (const double split : kSumSplits) {
    if (split > 1 && problem.k / split < kLeastPart) break;
    for (const TensorTile& tile : library.tiles)
      best = std::min(best, TensorTileNs(problem, tile, split, library, rates, constants, best));
  }
  return DurationNs(std::llround(constants.start_clocks / rates.clock_ghz + best));
}

}  // namespace headroom
