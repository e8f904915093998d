#include "kernels/memory_time.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "kernels/overlap.h"

namespace headroom {
namespace {

/// How a kernel of PyTorch lays rows out over a GPU.
struct RowLaunch {
  double threads = 128;  ///< Of a block.
  double rows_a_block = 1;
  double shared_bytes = 0;  ///< That a block takes.
  double again = 0;         ///< How often a row is read after the first time ...
  bool apart = false;       ///< ... which another kernel does, for all rows.
  double wait_us = 0;       ///< What a wave of rows takes at least.
};

/// Rows of a softmax of up to so many elements are one warp's, which keeps them in registers.
constexpr double kInRegisters = 1024;

/// What a block may have on AMD's GPUs.
constexpr double kSharedBytes = 65536;

double LanesOfWarp(const DeviceRates& rates) { return rates.device->vendor == "AMD" ? 64 : 32; }

/// Softmaxes have changed: NVIDIA's GPUs were measured with PyTorch 2.1, AMD's with 2.4.
bool IsNewer(const DeviceRates& rates) { return rates.device->vendor == "AMD"; }

/// softmax_warp_forward: a warp, or of short rows a part of it, takes a row or two.
RowLaunch ShortSoftmax(double columns, const DeviceRates& rates, const KernelConstants& constants) {
  constexpr double kTwoRows = 128;  // Up to here.
  const double width = std::exp2(std::ceil(std::log2(std::max(columns, 1.0))));
  RowLaunch launch{.wait_us = constants.warp_row_us};
  launch.rows_a_block =
      launch.threads / std::min(width, LanesOfWarp(rates)) * (width <= kTwoRows ? 2 : 1);
  return launch;
}

/// cunn_SoftMaxForward: a block takes a row, which it reads for the largest element, for the sum
/// and to write. Newer ones keep it in shared memory (cunn_SoftMaxForwardSmem) where it is aligned
/// and fits.
RowLaunch LongSoftmax(double columns, double element_bytes, const DeviceRates& rates,
                      const KernelConstants& constants) {
  constexpr double kWarp = 32, kMaxThreads = 1024, kUsualThreads = 512, kSumBytes = 4;
  constexpr double kAtOnceBytes = 16;  // Threads read so much at once where a row is aligned to it.
  const double at_once = kAtOnceBytes / element_bytes;
  RowLaunch launch{.again = 2};
  if (IsNewer(rates)) {
    launch.threads = kMaxThreads;
  } else {
    // Doubled until they are at least half of what reading so much at once leaves to do.
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
    // Up to the first aligned element, and what is left of whole vectors, threads read one element
    // at a time. Rows begin anywhere between two aligned elements.
    const double rest = aligned ? columns : columns + (at_once - 1) / 2 - launch.threads;
    iterations = (aligned ? 0 : 1) + std::floor(rest / whole) +
                 std::ceil(std::fmod(rest, whole) / launch.threads);
  }
  launch.wait_us = (constants.softmax_row_us + constants.softmax_loop_us * iterations) *
                   std::sqrt(launch.threads / kUsualThreads);
  return launch;
}

/// vectorized_layer_norm_kernel: a block of four warps takes a row, which it reads for the moments
/// and to write. Rows that are no whole vectors have a kernel for each (RowwiseMomentsCUDAKernel,
/// LayerNormForwardCUDAKernel), which nobody has measured for these models.
RowLaunch Normalization(double columns, const DeviceRates& rates,
                        const KernelConstants& constants) {
  constexpr double kWarps = 4, kUnrolled = 4, kAtOnce = 4;  // Of elements, whatever their type.
  RowLaunch launch{
      .threads = kWarps * LanesOfWarp(rates), .again = 1, .wait_us = constants.norm_row_us};
  if (std::fmod(columns, kAtOnce) != 0) {
    constexpr double kThreadsOfMoments = 512;
    launch.threads = kThreadsOfMoments;
    launch.apart = true;
    return launch;
  }
  // The loop over a row is unrolled: where some lanes of a warp have one iteration more, and with
  // it a whole unrolled round, the warp goes through that and through the others' iterations.
  const double of_warp = LanesOfWarp(rates) * kAtOnce;
  const double iterations = std::ceil(columns / (kWarps * of_warp));
  const bool split = std::fmod(columns, of_warp) != 0 && std::fmod(iterations, kUnrolled) == 0;
  if (split) launch.wait_us += constants.norm_split_us;
  return launch;
}

/// How many blocks a multiprocessor holds: these have too many threads for its slots of blocks to
/// run out first.
double BlocksOf(const RowLaunch& launch, const DeviceRates& rates) {
  double blocks = std::floor(rates.threads / launch.threads);
  if (launch.shared_bytes > 0) {
    const double shared = rates.device->shared_memory_per_sm_bytes.value_or(kSharedBytes);
    blocks = std::min(blocks, std::floor(shared / launch.shared_bytes));
  }
  return std::max(1.0, blocks);
}

/// How much of what is read again is no longer in a cache, 0 to 1.
///
/// @param fill    what the rows at work are of the cache
/// @param fits    all is there up to here
/// @param misses  and nothing from here on
double Missed(double fill, double fits, double misses) {
  return std::clamp((fill - fits) / std::max(1e-9, misses - fits), 0.0, 1.0);
}

}  // namespace

double PointwiseNs(const PointwiseWork& work, const DeviceRates& rates) {
  // Half of an L2 holds what two kernels share, for both read and write there.
  const double fits = rates.l2_bytes / 2 / std::max(work.bytes, 1.0);
  constexpr double kGone = 0.3;  // Of twice that, nothing is left.
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
  const double at_work = BlocksOf(launch, rates) * launch.rows_a_block;  // On a multiprocessor.
  const double between = launch.apart ? work.rows : at_work * rates.processors;
  const double l1_missed = launch.apart ? 1
                                        : Missed(at_work * row_bytes / rates.l1_bytes,
                                                 constants.row_l1_fits, constants.row_l1_misses);
  const double l2_missed =
      Missed(between * row_bytes / rates.l2_bytes, constants.row_fits, constants.row_misses);
  const double again = launch.again * l1_missed * (l2_missed + (1 - l2_missed) * constants.row_hit);
  const double waves = std::ceil(work.rows / (at_work * rates.processors));
  // While some rows wait for what they read, or for their threads' sums, others read.
  return Overlapped(work.rows * row_bytes * (2 + again) / rates.bytes_per_ns,
                    waves * launch.wait_us * kNsPerUs, constants.row_overlap) +
         (launch.apart ? constants.start_us * kNsPerUs : 0);
}

}  // namespace headroom
