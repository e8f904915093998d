// Constants fitted to measured kernels of many GPUs: tile efficiencies, bandwidth shares, and
// prediction errors on GPUs left out of the fit.
// The program ships data/kernels/constants.toml, which tools/fit_kernels makes from measurements.
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

/// Class of a piece of work. It determines the error range of its time.
enum class WorkClass : std::uint8_t {
  kProduct,
  kConvolution,
  kPointwise,
  kRowwise,
  kOther,
  kTensorProduct,  ///< A product on tensor cores.
  kAttention,      ///< Fused attention.
  kInstruction,    ///< Kernels that instructions may bound (InstructionWork).
};
inline constexpr std::size_t kWorkClasses = 8;

/// Returns "product", "convolution", "pointwise", "rowwise", "other", "tensor_product", "attention"
/// or "instruction".
std::string_view Name(WorkClass work);

/// Tile of a matrix-product kernel: the part of the result that one block computes.
struct GemmTile {
  std::string name;
  double columns = 0, rows = 0;
  double threads = 0;     ///< Threads per block.
  double registers = 0;   ///< Registers per thread.
  double efficiency = 0;  ///< Share of the peak of a multiprocessor filled with such blocks.
};

/// Outputs of one block of a Winograd F(2x2, 3x3) kernel, in squares of 2 x 2.
struct WinogradBlock {
  double images = 1, rows = 0, columns = 0;
};

/// Bytes per cache line.
inline constexpr double kCacheLine = 128;

/// Tiles that a vendor's library has for a generation of GPUs.
struct GemmLibrary {
  std::string name;
  std::vector<std::string> architectures;
  std::vector<std::size_t> single, batched;  ///< Tiles for one product, and for many small ones.
  /// Tiles for the products of Winograd's F(4x4, 3x3).
  std::vector<std::size_t> winograd_products;
  std::vector<WinogradBlock> winograd_blocks;
  bool ampere_convolutions = false;  ///< Convolutions use the kernels of Ampere and later.
  /// The library had not tried all algorithms in any measured convolution.
  bool untried_convolutions = false;
  bool dual_issue = false;  ///< Multiprocessors issue two instructions per clock.
  /// Bytes of a cache line that kernels of single products read at once from rows along k; 0 if
  /// unknown.
  double piece_bytes = 0;
};

/// 80 % interval of log(true time / predicted time).
struct ErrorRange {
  double low = 0, high = 0;

  ErrorRange Scaled(double factor) const { return {.low = factor * low, .high = factor * high}; }
  /// Returns the smallest range that contains both.
  ErrorRange Joined(const ErrorRange& other) const {
    return {.low = std::min(low, other.low), .high = std::max(high, other.high)};
  }
  /// Returns the interpolation towards another range: this one at 0, the other at 1.
  ErrorRange Towards(const ErrorRange& other, double share) const {
    return {.low = low + share * (other.low - low), .high = high + share * (other.high - high)};
  }
};

/// Constants of products on tensor cores (kernels/tensor_core_gemm.h). Clocks are those of the
/// multiprocessors, because the latencies that they stand for scale with them. The defaults ship:
/// forecasts of changes use them without a file. `tools/modern_accuracy --fit --all` prints them,
/// from linear layers in 16 bits of A100, A40, A800 and H800.
struct TensorCoreConstants {
  double start_clocks = 4577;           ///< Start of the kernel in a stream of kernels.
  double end_clocks = 2531;             ///< Start and end of a tile of 128 x 128 results ...
  double end_exponent = 0.463;          ///< ... and how they grow with the results.
  double split_clocks = 6006;           ///< Second kernel of a split product.
  double efficiency = 0.9729;           ///< Share of the peak of a tile of 128 x 128 results ...
  double efficiency_exponent = 0.4081;  ///< ... and how it grows with them ...
  double most_efficiency = 0.8542;      ///< ... up to this share.
  double overlap = 3.162;               ///< Order of the norm of computing and reading.
  double processor_bytes = 72.62;  ///< Bytes per clock that one multiprocessor draws from memory.
  double l2_bytes = 32;            ///< Bytes per clock and multiprocessor from the L2.
  /// Blocks of a cluster that receive an operand together, on Hopper and later in 16 bits.
  double multicast = 2;
};

struct KernelConstants {
  std::string about;  ///< Origin of the constants, for users.
  /// Architectures of the GPUs that the constants were fitted to.
  std::vector<std::string> validated;
  /// The same for products on tensor cores, and for kernels of language models.
  std::vector<std::string> validated_tensor_cores;
  std::vector<GemmTile> tiles;
  std::vector<GemmLibrary> libraries;

  // Matrix products on vector units.
  double hiding_warps = 4;  ///< Warps with which a 64-lane multiprocessor reaches half of its rate.
  /// Nanoseconds per result of a tile that a multiprocessor spends on start and end, independent of
  /// its rate.
  double result_ns = 0.186;
  double l2_share = 0.5;  ///< Share of the L2 that operands can fill before they are read again.
  /// Order of the norm of arithmetic and reading (Overlapped()): 1 adds them, 64 takes the longer.
  double overlap = 4;
  double split_us = 10;         ///< Cost of a split along k, without its bytes.
  double skew = 0.01;           ///< Offset along k between running blocks, as a share of k.
  double tlb_miss_clocks = 16;  ///< Multiprocessor clocks per piece whose page is not in the TLB.
  /// Share of the peak that remains if 128 lanes use every issue slot of a multiprocessor's four
  /// schedulers. Loads and addresses then take slots from arithmetic.
  double issue_share = 0.82;
  double full_power = 0.5;  ///< Exponent of the power rule for full-size cards ...
  double low_power = 1;     ///< ... and for cards of 75 W or less.

  TensorCoreConstants tensor_cores;  ///< Overridden by the optional section [tensor_cores].

  // Convolutions on vector units.
  /// Share of a full multiprocessor's peak that an implicit GEMM reaches.
  double direct = 0.9;
  double direct_result_ns = 0.29;  ///< `result_ns` of an implicit GEMM's blocks.
  /// Share of a full multiprocessor's peak that F(2x2, 3x3) in one kernel reaches.
  double winograd_fused = 0.85;
  double winograd_block_us = 3.9;  ///< Start and end of a whole block of F(2x2, 3x3).
  /// Share of `direct` and `winograd_fused` that kernels of Ampere and later reach.
  double ampere_share = 1;
  /// Share of a tile's efficiency that products of F(4x4, 3x3) reach.
  double winograd_product = 0.8;
  /// Share of the sustained bandwidth that the transformed images of F(4x4, 3x3) reach.
  double winograd_bytes = 0.8;
  double winograd_filter = 2;  ///< Number of times that transformed weights are moved.

  // Memory-bound kernels: share of the bandwidth.
  double hbm = 0.88, gddr = 0.85, amd = 0.78;
  double gddr_small = 0.745;     ///< GDDR on cards of 75 W or less.
  double l2_bytes_a_clock = 20;  ///< Bytes per clock and multiprocessor.
  /// Share of the L2 up to which all rows in progress stay cached ...
  double row_fits = 0.4;
  double row_misses = 1;                        ///< ... and from which no row does.
  double row_l1_fits = 0.5, row_l1_misses = 1;  ///< The same shares for the L1.
  double row_hit = 0.2;    ///< Cost of reading a row again from the L2, relative to memory.
  double row_overlap = 2;  ///< Order of the norm of reading rows and waiting for them.
  double warp_row_us = 2, softmax_row_us = 2, norm_row_us = 2.5;  ///< Minimum per wave of rows.
  double softmax_loop_us = 1;  ///< Extra time per iteration of a long softmax's loops.
  double norm_split_us = 2.5;  ///< Extra time if lanes of a normalization's warps diverge.

  // Launch costs.
  double start_us = 3;  ///< Start of a kernel within a stream of kernels.
  /// Call overhead of an operator timed alone between two events: elementwise, then by kind.
  double call_us = 20;
  double bmm_call_us = 20, linear_call_us = 40, convolution_call_us = 40;
  double softmax_call_us = 20, norm_call_us = 40;
  /// Half-width of the error range of ln(call overhead) on another machine's host.
  double host_error = 0.5;

  // Energy, as shares of the power limit (predict/energy.h).
  double energy_idle = 0.1, energy_busy = 0.4;
  double energy_error = 0.1, energy_error_elsewhere = 0.2;  ///< Half-widths, as shares.
  std::string energy_gpu;  ///< Full name of the GPU whose energy counters gave these values.

  /// Error ranges by class; `low_power_errors` is for cards of 75 W or less.
  std::array<ErrorRange, kWorkClasses> errors{}, low_power_errors{};
  /// Factors that widen ranges on architectures left out of the fit, by vendor.
  double extrapolated_nvidia = 1, extrapolated_amd = 1;
  /// Error range of convolutions whose algorithm the library chose by unknown rules, without trying
  /// all algorithms. The chosen algorithm can take several times as long as the fastest.
  ErrorRange untried_convolution;
  /// Error ranges of a whole step.
  ErrorRange step_error, low_power_step_error;
  /// The same ranges if similar shapes were measured on the GPU (kernels/local_correction.h).
  std::array<ErrorRange, kWorkClasses> measured_errors{};
  ErrorRange measured_step_error;
  double local_radius = 0.85;  ///< Radius of similar shapes, in logarithms of extents.
  double local_prior = 0.3;    ///< Weight of the models relative to measurements.
  /// Share of a profile's deviation from the model that carries over to another GPU, by class.
  /// `residual_same` applies if its library runs the same kernels, `residual_other` otherwise.
  std::array<double, kWorkClasses> residual_same{}, residual_other{};

  /// Loads the built-in constants. A failure is a defect of the build.
  static Result<KernelConstants> LoadBuiltIn();
  /// Fails with kBadInput, and names the file, the key and the fix, if a key is missing or invalid.
  static Result<KernelConstants> Parse(const NamedText& file);

  /// Returns the library of an architecture; nullptr for an unknown architecture.
  const GemmLibrary* LibraryOf(std::string_view architecture) const;
  /// Returns true if the constants were fitted to a GPU of that architecture.
  ///
  /// @param vector_share  share of the time in products and convolutions on vector units, 0 to 1
  bool Validated(std::string_view architecture, double vector_share = 1) const;
};

}  // namespace headroom
