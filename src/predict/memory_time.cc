#include "predict/memory_time.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "predict/overlap.h"

namespace headroom {
namespace {

constexpr double kWarp = 32;

/// Threads of a block of PyTorch's softmax that takes a row each, which needs more than
/// `kInRegisters` elements.
constexpr double kInRegisters = 1024, kMostThreads = 1024;

double SoftmaxThreads(double columns, double element_bytes, const DeviceRates& rates) {
  // What was measured on AMD's GPUs ran PyTorch 2.4, which takes as many threads as there are ...
  if (rates.device->vendor == "AMD") return kMostThreads;
  // ... and what was measured on NVIDIA's 2.1: each thread reads so much at once, and blocks are
  // doubled until they are at least half of what that leaves to do.
  constexpr double kAtOnceBytes = 16;
  const double most = std::min(std::floor(columns * element_bytes / kAtOnceBytes), kMostThreads);
  return std::max(kWarp, std::exp2(std::ceil(std::log2(most / 2))));
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

double PointwiseNs(const PointwiseWork& work, const DeviceRates& rates,
                   const KernelConstants& constants) {
  // Half of an L2 holds what two kernels share, for both read and write there.
  const double fits = rates.l2_bytes / 2 / std::max(work.bytes, 1.0);
  constexpr double kGone = 0.3;  // Of twice that, nothing is left.
  const double cached = fits >= 1 ? 1 : std::max(0.0, (fits - kGone) / (1 - kGone));
  return work.bytes / rates.bytes_per_ns * (1 - cached + cached / constants.cached_rate);
}

double RowwiseNs(const RowwiseWork& work, double element_bytes, const DeviceRates& rates,
                 const KernelConstants& constants) {
  constexpr double kBlock = 128;  // Threads of a normalization, and of short rows.
  const bool in_registers = work.softmax && work.columns <= kInRegisters;
  const double threads =
      work.softmax && !in_registers ? SoftmaxThreads(work.columns, element_bytes, rates) : kBlock;
  const double rows_a_block = in_registers ? kBlock / kWarp : 1;
  const double most_blocks = rates.threads > kMostThreads ? kWarp : kWarp / 2;
  const double blocks = std::max(1.0, std::min(std::floor(rates.threads / threads), most_blocks));
  const double at_work = rates.processors * blocks * rows_a_block;  // Rows.
  const double again = in_registers ? 0 : work.softmax ? 2 : 1;
  const double row_bytes = work.columns * element_bytes;
  const double l1_missed = Missed(blocks * rows_a_block * row_bytes / rates.l1_bytes,
                                  constants.row_l1_fits, constants.row_l1_misses);
  const double l2_missed =
      Missed(at_work * row_bytes / rates.l2_bytes, constants.row_fits, constants.row_misses);
  const double passes = 2 + again * l1_missed * (l2_missed + (1 - l2_missed) * constants.row_hit);
  const double row_us = in_registers   ? constants.warp_row_us
                        : work.softmax ? constants.softmax_row_us
                                       : constants.norm_row_us;
  // While some rows wait for what they read, or for their threads' sums, others read.
  return Overlapped(work.rows * row_bytes * passes / rates.bytes_per_ns,
                    std::ceil(work.rows / at_work) * row_us * kNsPerUs, constants.row_overlap);
}

}  // namespace headroom
