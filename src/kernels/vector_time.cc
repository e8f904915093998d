#include "kernels/vector_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/units.h"
#include "kernels/memory_time.h"
#include "kernels/overlap.h"

namespace headroom {
namespace {

constexpr double kSize = 4;  // Bytes per element.
constexpr double kWarp = 32;
/// Numbers of parts that the library can split the sum over k into, and the minimum length of a
/// part.
constexpr std::array kSplits = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 16.0, 20.0, 25.0};
constexpr double kMinPart = 128;

/// Identical thread blocks of a kernel.
struct Blocks {
  double count = 0;
  double threads = 0;     ///< Threads per block.
  double registers = 0;   ///< Registers per thread.
  double flops = 0;       ///< FLOPs per block.
  double efficiency = 1;  ///< Share of the peak of a multiprocessor filled with these blocks.
  double ends_ns = 0;     ///< Multiprocessor time per block to start and end.
};

/// Returns the number of blocks that a multiprocessor holds.
double Resident(const Blocks& blocks, const DeviceRates& rates) {
  return std::max(1.0, std::min(std::floor(rates.registers / (blocks.threads * blocks.registers)),
                                std::floor(rates.threads / blocks.threads)));
}

/// Returns the time of the blocks' arithmetic at the boost clock.
double BoostedNs(const Blocks& blocks, const DeviceRates& rates, const KernelConstants& constants) {
  const double resident = Resident(blocks, rates);
  // Rate of a multiprocessor with `at_work` blocks, whose warps hide each other's latency.
  const double half = constants.hiding_warps * rates.lanes / 64;
  const auto rate = [&](double at_work) {
    const double warps = at_work * blocks.threads / kWarp;
    return warps / (warps + half);
  };
  const double peak = rates.flops_per_ns / rates.processors;
  const double block_ns =
      blocks.flops / (peak * blocks.efficiency * rates.issue_share) + blocks.ends_ns;
  const double a_processor = blocks.count / rates.processors;
  const double rounds = std::floor(a_processor / resident);
  const double rest = std::ceil(a_processor - rounds * resident - 1e-9);
  double compute = rounds * resident * block_ns;
  if (rest > 0) compute += rest * block_ns * rate(resident) / rate(rest);
  return compute;
}

/// Returns the time of the blocks' arithmetic. Power bounds the rate at any clock.
double ComputeNs(const Blocks& blocks, const DeviceRates& rates, const KernelConstants& constants) {
  return std::max(BoostedNs(blocks, rates, constants),
                  blocks.count * blocks.flops / (rates.flops_per_ns * rates.sustained_share));
}

/// How a product is divided: the sum of each tile is computed in `split` parts.
struct Cut {
  double split = 1;
  double share = 1;  ///< Share of the tile's efficiency that the product reaches.
};

/// Time of a product in tiles of one kind.
struct TileTime {
  double expected_ns = 0;  ///< The library's estimate, which ignores power and rows in pieces.
  double ns = 0;
};

/// Returns the time to read rows along k in pieces, in addition to the arithmetic; 0 if no row is
/// read in pieces. Measurements match a model in which each piece that misses the L2 loads a whole
/// line from memory.
///
/// @param at_work  blocks that run at once; the model assigns them to tiles in row-major order
double RowPiecesNs(const ProductWork& work, const GemmTile& tile, double split, double at_work,
                   const DeviceRates& rates, const KernelConstants& constants) {
  const double piece = rates.library->piece_bytes;
  // Vectors have separate kernels, whose threads read rows together.
  if (piece == 0 || work.batched || work.m == 1 || work.n == 1) return 0;
  // Reach of a multiprocessor's first-level TLB, with pages of 2 MiB. Source: Jia et al.,
  // "Dissecting the NVIDIA Volta GPU architecture via microbenchmarking" (2018), which includes
  // Pascal.
  constexpr double kReach = 32 << 20, kPage = 2 << 20;
  const double rows = std::ceil(work.m / tile.rows), columns = std::ceil(work.n / tile.columns);
  const double tiles = rows * columns;
  // Mean rows and columns per tile, without those beyond the product's edges.
  const double first = work.first_along_k ? work.m / rows : 0;
  const double second = work.second_along_k ? work.n / columns : 0;
  const double pieces = tiles * (first + second) * std::ceil(work.k * kSize / piece);

  // Each row in progress has a line in the L2. Rows shared by several blocks also occupy the lines
  // between the positions of those blocks.
  const double columns_at_work = std::min(columns, at_work);
  const double rows_at_work = std::min(rows, at_work / columns_at_work);
  const double parts = std::max(1.0, at_work / tiles);
  const double kept = parts * (rows_at_work * first + columns_at_work * second) *
                      (kCacheLine + constants.skew * work.k / split * kSize);
  const double missed = kept / (kept + rates.l2_bytes);
  const double lines_ns = pieces * missed * kCacheLine / rates.bytes_per_ns;

  const double processors = std::min(rates.processors, at_work);
  const double span = at_work / processors * (first + second) * std::min(work.k * kSize, kPage);
  const double beyond = span > kReach ? 1 - kReach / span : 0;
  const double clocks_per_ns = rates.flops_per_ns / (2 * rates.lanes * rates.processors);
  const double pages_ns =
      pieces * beyond * constants.tlb_miss_clocks / (clocks_per_ns * processors);
  return std::max(lines_ns, pages_ns);
}

TileTime TileNs(const ProductWork& work, const GemmTile& tile, const Cut& cut,
                const DeviceRates& rates, const KernelConstants& constants) {
  const double split = cut.split;
  const double rows = std::ceil(work.m / tile.rows), columns = std::ceil(work.n / tile.columns);
  const double step = 2 * tile.rows * tile.columns;  // FLOPs per element of k.
  const Blocks blocks = {.count = work.batch * rows * columns * split,
                         .threads = tile.threads,
                         .registers = tile.registers,
                         .flops = step * std::ceil(work.k / split),
                         .efficiency = tile.efficiency * cut.share,
                         .ends_ns = tile.rows * tile.columns * constants.result_ns};

  // Counts operands once, or once per group of running blocks if they exceed the L2.
  const double at_work = std::min(rates.processors * Resident(blocks, rates), blocks.count);
  const double tiles = rows * columns;
  const double together = std::min(tiles, at_work);
  const double group_rows =
      std::min(rows, std::max(std::sqrt(together * tile.columns / tile.rows), together / columns));
  const double group_columns = std::min(columns, together / group_rows);
  const double again = tiles / (group_rows * group_columns) *
                       (group_rows * tile.rows + group_columns * tile.columns) * work.k;
  const double once = work.m * work.k + work.k * work.n;
  // Parts of a sum read parts of the operands, so operands of all running products count.
  const double working_set = once * kSize * std::max(1.0, at_work / (tiles * split));
  const double miss = std::clamp(working_set / (rates.l2_bytes * constants.l2_share) - 1, 0.0, 1.0);
  const double partial = split > 1 ? 1 + 2 * split : 1;
  const double bytes =
      kSize * work.batch * (once + std::max(0.0, again - once) * miss + work.m * work.n * partial);
  const double memory = bytes / rates.bytes_per_ns;
  const double pieces = RowPiecesNs(work, tile, split, at_work, rates, constants);
  const double joining = split > 1 ? constants.split_us * kNsPerUs : 0;
  return {.expected_ns =
              Overlapped(BoostedNs(blocks, rates, constants), memory, constants.overlap) + joining,
          .ns = Overlapped(ComputeNs(blocks, rates, constants), std::max(memory, pieces),
                           constants.overlap) +
                joining};
}

/// Returns the time with the tile that the library expects to be fastest.
///
/// @param share  share of a tile's efficiency that the product reaches
double ChosenNs(const ProductWork& work, std::span<const std::size_t> tiles, bool splits,
                double share, const DeviceRates& rates, const KernelConstants& constants) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  TileTime best{.expected_ns = kNever, .ns = kNever};
  for (const std::size_t tile : tiles) {
    for (const double split : kSplits) {
      if (split > 1 && (!splits || work.k / split < kMinPart)) break;
      const TileTime time =
          TileNs(work, constants.tiles[tile], {.split = split, .share = share}, rates, constants);
      if (time.expected_ns < best.expected_ns) best = time;
    }
  }
  return best.ns;
}

/// Elements of the sum that convolution kernels process at once. A remainder costs as much as a
/// whole group.
constexpr double kUnrolled = 8;

double Unrolled(double depth) { return std::ceil(depth / kUnrolled) * kUnrolled; }

/// Registers per thread of convolution kernels.
constexpr double kRegisters = 128;

/// Returns the share of the modelled rate that convolution kernels of the device's library reach.
double LibraryShare(const DeviceRates& rates, const KernelConstants& constants) {
  return rates.library->ampere_convolutions ? constants.ampere_share : 1;
}

double ImplicitProductNs(const ConvolutionWork& work, double outputs, double moved_ns,
                         const DeviceRates& rates, const KernelConstants& constants) {
  // A block computes 128 outputs of `channels` channels.
  struct Shape {
    double channels, threads;
  };
  constexpr double kOutputs = 128;
  constexpr std::array kShapes = {Shape{32, 64}, Shape{64, 128}, Shape{128, 256}};
  const double depth = Unrolled(work.in_channels * work.kernel * work.kernel);
  double best = std::numeric_limits<double>::infinity();
  for (const Shape& shape : kShapes) {
    const double step = 2 * kOutputs * shape.channels;  // FLOPs per element of the sum.
    const Blocks blocks = {
        .count = std::ceil(outputs / kOutputs) * std::ceil(work.out_channels / shape.channels),
        .threads = shape.threads,
        .registers = kRegisters,
        .flops = step * depth,
        .efficiency = constants.direct * LibraryShare(rates, constants),
        .ends_ns = kOutputs * shape.channels * constants.direct_result_ns};
    best = std::min(best, ComputeNs(blocks, rates, constants));
  }
  // A separate kernel first computes the address of each element of a sum.
  return Overlapped(best, moved_ns, constants.overlap) + constants.start_us * kNsPerUs;
}

/// Returns the time for the transformed weights: the transform writes them, and the products read
/// them.
double TransformedWeightsNs(const ConvolutionWork& work, double products, const DeviceRates& rates,
                            const KernelConstants& constants) {
  return kSize * products * work.in_channels * work.out_channels * constants.winograd_filter /
         rates.bytes_per_ns;
}

double FusedWinogradNs(const ConvolutionWork& work, double out, double moved_ns,
                       const DeviceRates& rates, const KernelConstants& constants) {
  constexpr double kPatches = 32, kChannels = 32, kThreads = 256;  // Per block.
  constexpr double kProducts = 16;                                 // Per 2 x 2 outputs.
  constexpr double kStep = 2 * kProducts * kPatches * kChannels;   // FLOPs per channel.
  const double side = std::ceil(out / 2);
  double best = std::numeric_limits<double>::infinity();
  for (const WinogradBlock& block : rates.library->winograd_blocks) {
    const Blocks blocks = {.count = std::ceil(work.batch / block.images) *
                                    std::ceil(side / block.rows) * std::ceil(side / block.columns) *
                                    std::ceil(work.out_channels / kChannels),
                           .threads = kThreads,
                           .registers = kRegisters,
                           .flops = kStep * Unrolled(work.in_channels),
                           .efficiency = constants.winograd_fused * LibraryShare(rates, constants),
                           .ends_ns = constants.winograd_block_us * kNsPerUs};
    best = std::min(best, ComputeNs(blocks, rates, constants));
  }
  return Overlapped(best, moved_ns, constants.overlap) +
         TransformedWeightsNs(work, kProducts, rates, constants) + constants.start_us * kNsPerUs;
}

double TransformedWinogradNs(const ConvolutionWork& work, double out, double moved_ns,
                             const DeviceRates& rates, const KernelConstants& constants) {
  constexpr double kProducts = 36;     // Per 4 x 4 outputs.
  constexpr double kOtherKernels = 3;  // Transforms of input, weights and output.
  const double patches = work.batch * std::ceil(out / 4) * std::ceil(out / 4);
  const double depth = Unrolled(work.in_channels);
  // Either the patches or the output channels can be the rows of the products.
  double products = std::numeric_limits<double>::infinity();
  for (const auto& [m, n] :
       {std::pair(patches, work.out_channels), std::pair(work.out_channels, patches)}) {
    const ProductWork all = {.batch = kProducts, .m = m, .k = depth, .n = n, .batched = true};
    products = std::min(products, ChosenNs(all, rates.library->winograd_products, false,
                                           constants.winograd_product, rates, constants));
  }
  const double patches_ns = kSize * kProducts * patches * (work.in_channels + work.out_channels) /
                            (rates.bytes_per_ns * constants.winograd_bytes);
  return products + moved_ns + patches_ns +
         TransformedWeightsNs(work, kProducts, rates, constants) +
         kOtherKernels * constants.start_us * kNsPerUs;
}

}  // namespace

double ProductNs(const ProductWork& work, const DeviceRates& rates,
                 const KernelConstants& constants) {
  if (work.batched) return ChosenNs(work, rates.library->batched, false, 1, rates, constants);
  const double tiled = ChosenNs(work, rates.library->single, true, 1, rates, constants);
  if (work.m != 1 && work.n != 1) return tiled;
  // Libraries have kernels for a matrix times a vector, which read each element once.
  const double bytes = kSize * work.batch * (work.m * work.k + work.k * work.n + work.m * work.n);
  return std::min(tiled, PointwiseNs({.bytes = bytes}, rates) + constants.start_us * kNsPerUs);
}

double OutputSide(const ConvolutionWork& work) {
  return std::floor((work.image + 2 * work.padding - work.kernel) / work.stride) + 1;
}

ConvolutionShape GeneralShape(const ConvolutionWork& work, DType dtype) {
  const auto whole = [](double value) { return static_cast<std::int64_t>(value); };
  const std::int64_t out = whole(OutputSide(work));
  return {.batch = whole(work.batch),
          .in_channels = whole(work.in_channels),
          .out_channels = whole(work.out_channels),
          .groups = 1,
          .in = {whole(work.image), whole(work.image)},
          .kernel = {whole(work.kernel), whole(work.kernel)},
          .out = {out, out},
          .dtype = dtype};
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
  if (work.kernel == kWinogradKernel && work.stride == 1 && work.plain) {
    best = std::min({best, FusedWinogradNs(work, out, moved_ns, rates, constants),
                     TransformedWinogradNs(work, out, moved_ns, rates, constants)});
  }
  return best;
}

}  // namespace headroom
