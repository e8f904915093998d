#include "predict/vector_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "base/units.h"

namespace headroom {
namespace {

constexpr double kSize = 4;  // Bytes of an element.
constexpr double kWarp = 32;
/// Into how many parts the sum over k may be split, and the least that a part may be.
constexpr std::array kSplits = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0, 25.0};
constexpr double kLeastPart = 128;

double Norm(double a, double b, double p) {
  return std::pow(std::pow(a, p) + std::pow(b, p), 1 / p);
}

/// Time of a product cut into tiles, each of whose sums is cut into `split` parts.
double TileNs(const ProductWork& work, const GemmTile& tile, double split, const DeviceRates& rates,
              const KernelConstants& constants) {
  const double rows = std::ceil(work.m / tile.rows), columns = std::ceil(work.n / tile.columns);
  const double blocks = work.batch * rows * columns * split;
  const double resident =
      std::max(1.0, std::min(std::floor(rates.registers / (tile.threads * tile.registers)),
                             std::floor(rates.threads / tile.threads)));

  // Rate of a multiprocessor with so many blocks: its warps hide each other's latency.
  const double half = constants.hiding_warps * rates.lanes / 64;
  const auto rate = [&](double at_work) {
    const double warps = at_work * tile.threads / kWarp;
    return warps / (warps + half);
  };
  const double peak = rates.flops_per_ns / rates.processors;
  const double block_ns = 2 * tile.rows * tile.columns *
                          (std::ceil(work.k / split) + constants.prologue) /
                          (peak * tile.efficiency * rates.issue_share);
  const double a_processor = blocks / rates.processors;
  const double rounds = std::floor(a_processor / resident);
  const double rest = std::ceil(a_processor - rounds * resident - 1e-9);
  double compute = rounds * resident * block_ns;
  if (rest > 0) compute += rest * block_ns * rate(resident) / rate(rest);
  // Power bounds the rate, whatever the clock could do.
  compute = std::max(compute, blocks * tile.rows * tile.columns * 2 * (work.k / split) /
                                  (rates.flops_per_ns * rates.sustained_share));

  // Bytes: operands once, or again for each group of blocks at work where they exceed the L2.
  const double at_work = std::min(rates.processors * resident, blocks);
  const double tiles = rows * columns;
  const double together = std::min(tiles, at_work);
  const double group_rows =
      std::min(rows, std::max(std::sqrt(together * tile.columns / tile.rows), together / columns));
  const double group_columns = std::min(columns, together / group_rows);
  const double again = tiles / (group_rows * group_columns) *
                       (group_rows * tile.rows + group_columns * tile.columns) * work.k;
  const double once = work.m * work.k + work.k * work.n;
  const double working_set = once * kSize * std::max(1.0, at_work / tiles);
  const double miss = std::clamp(working_set / (rates.l2_bytes * constants.l2_share) - 1, 0.0, 1.0);
  const double partial = split > 1 ? 1 + 2 * split : 1;
  const double bytes =
      kSize * work.batch * (once + std::max(0.0, again - once) * miss + work.m * work.n * partial);
  const double memory = bytes / rates.bytes_per_ns;
  return Norm(compute, memory, constants.overlap) + (split > 1 ? constants.split_us * kNsPerUs : 0);
}

/// By the best tile.
double BestNs(const ProductWork& work, std::span<const std::size_t> tiles, bool splits,
              const DeviceRates& rates, const KernelConstants& constants) {
  double best = std::numeric_limits<double>::infinity();
  for (const std::size_t tile : tiles) {
    for (const double split : kSplits) {
      if (split > 1 && (!splits || work.k / split < kLeastPart)) break;
      best = std::min(best, TileNs(work, constants.tiles[tile], split, rates, constants));
    }
  }
  return best;
}

double ImplicitProductNs(const ConvolutionWork& work, double outputs, double moved_ns,
                         const DeviceRates& rates, const KernelConstants& constants) {
  const double depth = work.in_channels * work.kernel * work.kernel;
  // Either side may be the rows of the product.
  const double product =
      std::min(ProductNs({.m = outputs, .k = depth, .n = work.out_channels}, rates, constants),
               ProductNs({.m = work.out_channels, .k = depth, .n = outputs}, rates, constants));
  return Norm(product / constants.direct, moved_ns, constants.overlap);
}

double FusedWinogradNs(const ConvolutionWork& work, double out, double moved_ns,
                       const DeviceRates& rates, const KernelConstants& constants) {
  constexpr double kTiles = 32, kChannels = 64;  // Of a block.
  constexpr double kMultiplications = 16;        // For 2 x 2 outputs.
  const double tiles = work.batch * std::ceil(out / 2) * std::ceil(out / 2);
  const double blocks = std::ceil(tiles / kTiles) * std::ceil(work.out_channels / kChannels);
  const double flops = blocks * kTiles * kChannels * 2 * kMultiplications *
                       (work.in_channels + constants.winograd_start);
  const double waves = blocks / rates.processors;
  const double rate = rates.flops_per_ns * std::min(constants.winograd_fused * rates.issue_share *
                                                        waves / std::ceil(waves),
                                                    rates.sustained_share);
  return Norm(flops / rate, moved_ns, constants.overlap);
}

double TransformedWinogradNs(const ConvolutionWork& work, double out, double moved_bytes,
                             const DeviceRates& rates, const KernelConstants& constants) {
  constexpr double kProducts = 36;  // For 4 x 4 outputs.
  const double tiles = work.batch * std::ceil(out / 4) * std::ceil(out / 4);
  const ProductWork one = {.batch = kProducts,
                           .m = tiles,
                           .k = work.in_channels,
                           .n = work.out_channels,
                           .batched = true};
  const ProductWork other = {.batch = kProducts,
                             .m = work.out_channels,
                             .k = work.in_channels,
                             .n = tiles,
                             .batched = true};
  const double products =
      std::min(ProductNs(one, rates, constants), ProductNs(other, rates, constants));
  const double tiles_bytes = kSize * kProducts * tiles * (work.in_channels + work.out_channels);
  const double weights_bytes = kSize * kProducts * work.in_channels * work.out_channels;
  return products + (moved_bytes + tiles_bytes / constants.winograd_bytes +
                     weights_bytes * constants.winograd_filter) /
                        rates.bytes_per_ns;
}

}  // namespace

double ProductNs(const ProductWork& work, const DeviceRates& rates,
                 const KernelConstants& constants) {
  return work.batched ? BestNs(work, rates.library->batched, false, rates, constants)
                      : BestNs(work, rates.library->single, true, rates, constants);
}

double OutputSide(const ConvolutionWork& work) {
  return std::floor((work.image + 2 * work.padding - work.kernel) / work.stride) + 1;
}

double ConvolutionNs(const ConvolutionWork& work, const DeviceRates& rates,
                     const KernelConstants& constants) {
  const double out = OutputSide(work);
  const double outputs = work.batch * out * out;
  const double weights = work.in_channels * work.out_channels * work.kernel * work.kernel;
  const double moved = kSize * (work.batch * work.in_channels * work.image * work.image +
                                outputs * work.out_channels + weights);
  const double moved_ns = moved / rates.bytes_per_ns;
  double best = ImplicitProductNs(work, outputs, moved_ns, rates, constants);
  constexpr double kWinogradKernel = 3;
  if (work.kernel == kWinogradKernel && work.stride == 1) {
    best = std::min({best, FusedWinogradNs(work, out, moved_ns, rates, constants),
                     TransformedWinogradNs(work, out, moved, rates, constants)});
  }
  return best;
}

}  // namespace headroom
