#include "predict/memory_time.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace headroom {
namespace {

constexpr double kWarp = 32;

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
  constexpr double kInRegisters = 1024;  // Elements.
  constexpr double kBlock = 128;         // Threads of a normalization, and of short rows.
  constexpr double kMostThreads = 1024;
  const bool in_registers = work.softmax && work.columns <= kInRegisters;
  const double threads =
      work.softmax && !in_registers
          ? std::clamp(kWarp * std::ceil(work.columns / (4 * kWarp)), kWarp, kMostThreads)
          : kBlock;
  const double rows_a_block = in_registers ? kBlock / kWarp : 1;
  const double most_blocks = rates.threads > kMostThreads ? kWarp : kWarp / 2;
  const double resident = rates.processors * rows_a_block *
                          std::max(1.0, std::min(std::floor(rates.threads / threads), most_blocks));
  const double again = in_registers ? 0 : work.softmax ? 2 : 1;
  const double fill = resident * work.columns * element_bytes / rates.l2_bytes;
  const double miss = std::clamp(
      (fill - constants.row_fits) / std::max(1e-9, constants.row_misses - constants.row_fits), 0.0,
      1.0);
  const double passes = 2 + again * (miss + (1 - miss) * constants.row_hit);
  const double row_us = in_registers   ? constants.warp_row_us
                        : work.softmax ? constants.softmax_row_us
                                       : constants.norm_row_us;
  return work.rows * work.columns * element_bytes * passes / rates.bytes_per_ns +
         work.rows / resident * row_us * kNsPerUs;
}

}  // namespace headroom
