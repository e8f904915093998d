// What was measured of kernels on all GPUs together: efficiencies of tiles, shares of the
// bandwidth, and how wrong predictions were on a GPU that had no part in them.
// data/kernels/constants.toml ships; tools/fit_kernels makes it from measurements.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// What decides how well the time of a piece of work is known.
enum class WorkClass : std::uint8_t { kProduct, kConvolution, kPointwise, kRowwise, kOther };
inline constexpr std::size_t kWorkClasses = 5;

/// "product", "convolution", "pointwise", "rowwise", "other".
std::string_view Name(WorkClass work);

/// A kernel of a library of matrix products: how much of the result one block computes.
struct GemmTile {
  std::string name;
  double columns = 0, rows = 0;
  double threads = 0;     ///< Of a block.
  double registers = 0;   ///< Of a thread.
  double efficiency = 0;  ///< Share of the peak that a multiprocessor full of such blocks reaches.
};

/// What a block of a kernel of Winograd's F(2x2, 3x3) computes, in squares of 2 x 2 outputs.
struct WinogradBlock {
  double images = 1, rows = 0, columns = 0;
};

/// Bytes of a line of the caches.
inline constexpr double kCacheLine = 128;

/// The tiles that the vendor's libraries have for a generation of GPUs.
struct GemmLibrary {
  std::string name;
  std::vector<std::string> architectures;
  std::vector<std::size_t> single, batched;    ///< Tiles, for one product and for many small ones.
  std::vector<std::size_t> winograd_products;  ///< Tiles, for those of Winograd's F(4x4, 3x3).
  std::vector<WinogradBlock> winograd_blocks;
  bool ampere_convolutions = false;  ///< Their kernels are those of Ampere and later.
  /// None were seen that it had tried all algorithms for.
  bool untried_convolutions = false;
  bool dual_issue = false;  ///< Multiprocessors issue a second instruction in the same clock.
  /// What its kernels of single products take of a cache line at once, of rows along k; 0: not
  /// known.
  double piece_bytes = 0;
};

/// Of log(true time / predicted time): between these lie four of five.
struct ErrorRange {
  double low = 0, high = 0;

  ErrorRange Scaled(double factor) const { return {.low = factor * low, .high = factor * high}; }
  /// What holds both.
  ErrorRange Joined(const ErrorRange& other) const {
    return {.low = std::min(low, other.low), .high = std::max(high, other.high)};
  }
  /// On the way to another: 0 this one, 1 the other.
  ErrorRange Towards(const ErrorRange& other, double share) const {
    return {.low = low + share * (other.low - low), .high = high + share * (other.high - high)};
  }
};

struct KernelConstants {
  std::string about;                   ///< For the user: what they were made from.
  std::vector<std::string> validated;  ///< Architectures of the GPUs that had a part in them.
  std::vector<GemmTile> tiles;
  std::vector<GemmLibrary> libraries;

  // Matrix products on vector units.
  double hiding_warps = 4;  ///< Warps a multiprocessor of 64 lanes needs for half of its rate.
  /// What a result of a tile takes of a multiprocessor to start and to end, whatever its rate.
  double result_ns = 0.186;
  double l2_share = 0.5;  ///< Of the L2, what operands may fill before they are read again.
  double overlap = 4;  ///< Norm in which computing and reading add up: 1 their sum, 64 the longer.
  double split_us = 10;         ///< What a split along k costs beside its bytes.
  double skew = 0.01;           ///< How far apart blocks at work are, as a share of k.
  double tlb_miss_clocks = 16;  ///< Of a multiprocessor, for a piece whose page its TLB lacks.
  /// Of the peak, what is left where 128 lanes take every issue slot of a multiprocessor's four
  /// schedulers, so that loads and addresses cost arithmetic.
  double issue_share = 0.82;
  double full_power = 0.5;  ///< Exponent of the power rule for full-size cards ...
  double low_power = 1;     ///< ... and for those of 75 W or less.

  // Convolutions on vector units.
  double direct = 0.9;             ///< Of a full multiprocessor's peak, of an implicit product.
  double direct_result_ns = 0.29;  ///< The same of an implicit product's blocks ...
  double winograd_fused = 0.85;    ///< Of that peak, of F(2x2, 3x3) in one kernel.
  double winograd_block_us = 3.9;  ///< ... and of a whole block of F(2x2, 3x3).
  double ampere_share = 1;         ///< Of these two, what kernels of Ampere and later reach.
  double winograd_product = 0.8;   ///< Of a tile's efficiency, of the products of F(4x4, 3x3).
  double winograd_bytes = 0.8;     ///< Of the sustained bandwidth, its transformed images.
  double winograd_filter = 2;      ///< Times that transformed weights are moved.

  // Kernels bound by memory: share of the bandwidth.
  double hbm = 0.88, gddr = 0.85, amd = 0.78;
  double gddr_small = 0.745;     ///< GDDR of cards of 75 W or less.
  double l2_bytes_a_clock = 20;  ///< Of each multiprocessor.
  double row_fits = 0.4;         ///< Of the L2: rows at work that are all found there again ...
  double row_misses = 1;         ///< ... and of which none is.
  double row_l1_fits = 0.5, row_l1_misses = 1;  ///< The same of the L1.
  double row_hit = 0.2;    ///< What reading a row again in the L2 costs, of reading it.
  double row_overlap = 2;  ///< Norm in which reading rows and waiting for them add up.
  double warp_row_us = 2, softmax_row_us = 2, norm_row_us = 2.5;  ///< The least for a wave of rows.
  double softmax_loop_us = 1;  ///< And more, for each iteration of a long softmax's loops ...
  double norm_split_us = 2.5;  ///< ... and where lanes of a normalization's warps part.

  // Around kernels.
  double start_us = 3;  ///< Of a kernel in a stream of kernels.
  /// Of an operator timed by itself, between two events: element by element, and others by kind.
  double call_us = 20;
  double bmm_call_us = 20, linear_call_us = 40, convolution_call_us = 40;
  double softmax_call_us = 20, norm_call_us = 40;
  /// Half-width, of the logarithm, of what another machine's host takes for a call.
  double host_error = 0.5;

  // Energy, as shares of the power limit (predict/energy.h).
  double energy_idle = 0.1, energy_busy = 0.4;
  double energy_error = 0.1, energy_error_elsewhere = 0.2;  ///< Half-widths, as shares.
  std::string energy_gpu;  ///< Full name of the GPU whose counters these come from.

  /// By class; second: of cards of 75 W or less.
  std::array<ErrorRange, kWorkClasses> errors{}, low_power_errors{};
  /// Times as wide, on architectures that had no part, by vendor.
  double extrapolated_nvidia = 1, extrapolated_amd = 1;
  /// Of convolutions whose algorithm the library chose by rules, which are not known, not by trying
  /// all of them: it may take several times as long as the fastest.
  ErrorRange untried_convolution;
  /// Of a whole step.
  ErrorRange step_error, low_power_step_error;
  /// The same where much was measured near by on the GPU itself (kernels/local_correction.h).
  std::array<ErrorRange, kWorkClasses> measured_errors{};
  ErrorRange measured_step_error;
  double local_radius = 0.85;  ///< How near is near, in logarithms of extents.
  double local_prior = 0.3;    ///< Weight of the models beside what was measured.
  /// How much of what a profile says beyond the model is carried over, by class: to a GPU whose
  /// library runs the same kernels, and to another.
  std::array<double, kWorkClasses> residual_same{}, residual_other{};

  /// Those built into the program. A failure is a defect of the build.
  static Result<KernelConstants> LoadBuiltIn();
  /// BadInput names the file, the key and the remedy. Every key must be there.
  static Result<KernelConstants> Parse(const NamedText& file);

  /// The library of an architecture; nullptr: none is known.
  const GemmLibrary* LibraryOf(std::string_view architecture) const;
  /// Whether a GPU of that architecture had a part in the constants.
  bool Validated(std::string_view architecture) const;
};

}  // namespace headroom
