#include "kernels/memory_time.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "kernels/overlap.h"

namespace headroom {
namespace {

/// Launch configuration of a PyTorch kernel that works on rows.
struct RowLaunch {
  double threads = 128;  ///< Threads per block.
  double rows_a_block = 1;
  double shared_bytes = 0;  ///< Bytes of shared memory per block.
  double again = 0;         ///< Number of repeated reads of a row.
  bool apart = false;       ///< True if a separate kernel repeats the reads, after all rows.
  double wait_us = 0;       ///< Minimum time of a wave of rows.
};

/// Up to this many elements, one warp keeps a softmax row in registers.
constexpr double kInRegisters = 1024;

/// Maximum shared memory of a block on AMD GPUs.
constexpr double kSharedBytes = 65536;

double LanesOfWarp(const DeviceRates& rates) { return rates.device->vendor == "AMD" ? 64 : 32; }

/// Returns true if the GPU was measured with the newer softmax kernels: NVIDIA GPUs were measured
/// with PyTorch 2.1, AMD GPUs with 2.4.
bool IsNewer(const DeviceRates& rates) { return rates.device->vendor == "AMD"; }

/// softmax_warp_forward: a warp, or for short rows a part of it, processes one or two rows.
RowLaunch ShortSoftmax(double columns, const DeviceRates& rates, const KernelConstants& constants) {
  constexpr double kTwoRows = 128;  // Up to this many elements.
  const double width = std::exp2(std::ceil(std::log2(std::max(columns, 1.0))));
  RowLaunch launch{.wait_us = constants.warp_row_us};
  launch.rows_a_block =
      launch.threads / std::min(width, LanesOfWarp(rates)) * (width <= kTwoRows ? 2 : 1);
  return launch;
}

/// cunn_SoftMaxForward: a block processes a row. It reads the row three times: for the largest
/// element, for the sum, and for the write. Newer versions keep the row in shared memory if it is
/// aligned and fits (cunn_SoftMaxForwardSmem).
RowLaunch LongSoftmax(double columns, double element_bytes, const DeviceRates& rates,
                      const KernelConstants& constants) {
  constexpr double kWarp = 32, kMaxThreads = 1024, kUsualThreads = 512, kSumBytes = 4;
  constexpr double kAtOnceBytes = 16;  // Bytes that a thread reads at once from an aligned row.
  const double at_once = kAtOnceBytes / element_bytes;
  RowLaunch launch{.again = 2};
  if (IsNewer(rates)) {
    launch.threads = kMaxThreads;
  } else {
    // Uses the smallest power of two that is at least half of the number of vector reads per row.
    const double most = std::min(std::floor(columns / at_once), kMaxThreads);
    launch.threads = std::max(kWarp, std::exp2(std::ceil(std::log2(std::floor(most / 2)))));
  }
  const bool aligned = std::fmod(columns, at_once) == 0;
  const double whole = launch.threads * at_once;
  const double shared = columns * element_bytes + launch.threads / LanesOfWarp(rates) * kSumBytes;
  double iterations = 0;
  if (IsNewer(rates) && aligned && shared < kSharedBytes) {
    launch.again = 0;
    launch.shared_bytes = shared;
    iterations = std::ceil(columns / whole);
  } else {
    // Before the first aligned element, and after the last whole vector, threads read one element
    // at a time. Rows begin anywhere between two aligned elements; the model uses the mean.
    const double rest = aligned ? columns : columns + (at_once - 1) / 2 - launch.threads;
    iterations = (aligned ? 0 : 1) + std::floor(rest / whole) +
                 std::ceil(std::fmod(rest, whole) / launch.threads);
  }
  launch.wait_us = (constants.softmax_row_us + constants.softmax_loop_us * iterations) *
                   std::sqrt(launch.threads / kUsualThreads);
  return launch;
}

/// vectorized_layer_norm_kernel: a block of four warps processes a row. It reads the row for the
/// moments, and again for the write. Rows that are not whole vectors use two kernels, neither of
/// which was measured: RowwiseMomentsCUDAKernel and LayerNormForwardCUDAKernel.
RowLaunch Normalization(double columns, const DeviceRates& rates,
                        const KernelConstants& constants) {
  constexpr double kWarps = 4, kUnrolled = 4, kAtOnce = 4;  // kAtOnce counts elements.
  RowLaunch launch{
      .threads = kWarps * LanesOfWarp(rates), .again = 1, .wait_us = constants.norm_row_us};
  if (std::fmod(columns, kAtOnce) != 0) {
    constexpr double kThreadsOfMoments = 512;
    launch.threads = kThreadsOfMoments;
    launch.apart = true;
    return launch;
  }
  // The loop over a row is unrolled. Some lanes of a warp can have one iteration more than the
  // others, which completes an unrolled round. The warp then executes that round, and also the
  // other lanes' iterations one by one.
  const double of_warp = LanesOfWarp(rates) * kAtOnce;
  const double iterations = std::ceil(columns / (kWarps * of_warp));
  const bool split = std::fmod(columns, of_warp) != 0 && std::fmod(iterations, kUnrolled) == 0;
  if (split) launch.wait_us += constants.norm_split_us;
  // A block alone takes this long for its row, so few long rows keep few multiprocessors busy.
  // Measured: 16 rows of 4,194,304 elements on A100, A6000 and L40S, and short rows on A100 and
  // A40.
  constexpr double kClocksPerColumn = 2.8;
  const double clocks_per_us = rates.flops_per_ns / (2 * rates.lanes * rates.processors) * kNsPerUs;
  launch.wait_us = std::max(launch.wait_us, kClocksPerColumn * columns / clocks_per_us);
  return launch;
}

/// Returns the number of blocks that a multiprocessor holds. Threads or shared memory limit this
/// number; block slots never do.
double BlocksOf(const RowLaunch& launch, const DeviceRates& rates) {
  double blocks = std::floor(rates.threads / launch.threads);
  if (launch.shared_bytes > 0) {
    const double shared = rates.device->shared_memory_per_sm_bytes.value_or(kSharedBytes);
    blocks = std::min(blocks, std::floor(shared / launch.shared_bytes));
  }
  return std::max(1.0, blocks);
}

/// Returns the share of repeated reads that miss the cache, from 0 to 1.
///
/// @param fill    size of the rows in progress, relative to the cache
/// @param fits    fill up to which every read hits
/// @param misses  fill from which every read misses
double Missed(double fill, double fits, double misses) {
  return std::clamp((fill - fits) / std::max(1e-9, misses - fits), 0.0, 1.0);
}

}  // namespace

double PointwiseNs(const PointwiseWork& work, const DeviceRates& rates) {
  // Half of the L2 can hold the data that two kernels share. Their other data takes the rest.
  const double fits = rates.l2_bytes / 2 / std::max(work.bytes, 1.0);
  // At or below this ratio of half the L2 to the bytes, no data stays cached.
  constexpr double kGone = 0.3;
  const double cached = fits >= 1 ? 1 : std::max(0.0, (fits - kGone) / (1 - kGone));
  return work.bytes * ((1 - cached) / rates.bytes_per_ns +
                       cached / std::max(rates.bytes_per_ns, rates.cached_bytes_per_ns));
}

double RowwiseNs(const RowwiseWork& work, double element_bytes, const DeviceRates& rates,
                 const KernelConstants& constants) {
  const RowLaunch launch = !work.softmax ? Normalization(work.columns, rates, constants)
                           : work.columns <= kInRegisters
                               ? ShortSoftmax(work.columns, rates, constants)
                               : LongSoftmax(work.columns, element_bytes, rates, constants);
  const double row_bytes = work.columns * element_bytes;
  const double at_work = BlocksOf(launch, rates) * launch.rows_a_block;  // Per multiprocessor.
  const double between = launch.apart ? work.rows : at_work * rates.processors;
  const double l1_missed = launch.apart ? 1
                                        : Missed(at_work * row_bytes / rates.l1_bytes,
                                                 constants.row_l1_fits, constants.row_l1_misses);
  const double l2_missed =
      Missed(between * row_bytes / rates.l2_bytes, constants.row_fits, constants.row_misses);
  const double again = launch.again * l1_missed * (l2_missed + (1 - l2_missed) * constants.row_hit);
  const double waves = std::ceil(work.rows / (at_work * rates.processors));
  // While some rows wait for reads or for their threads' sums, others read.
  return Overlapped(work.rows * row_bytes * (2 + again) / rates.bytes_per_ns,
                    waves * launch.wait_us * kNsPerUs, constants.row_overlap) +
         (launch.apart ? constants.start_us * kNsPerUs : 0);
}

}  // namespace headroom
