// Roofline: compares a piece of work with the limits of its GPU.
//
// Model: attainable FLOP/s = min(peak, intensity * bandwidth), with intensity = flops / bytes
// (Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM
// 52(4), 2009). Peak and bandwidth are data-sheet figures.
#pragma once

#include <optional>
#include <string_view>

#include "base/time.h"
#include "cost/device_spec.h"
#include "cost/dtype.h"
#include "cost/kernel_class.h"

namespace headroom {

/// The resource that limits the work.
enum class Bound { kUnknown, kCompute, kMemory };

/// "compute", "memory" or "unknown".
std::string_view Name(Bound bound);

/// Reliability of a roofline figure.
enum class RooflineState {
  kOk,
  /// The device, the type or the work is unknown or assumed, entirely or in part. Known fields are
  /// set.
  kUnknown,
  /// The work ran faster than the peak, or moved more bytes than memory delivers in the time plus
  /// the size of the last-level cache. Bytes are not tested if that size is unknown. The shapes,
  /// the time, the type or the device must be wrong. Report an error; never clamp.
  kImpossible,
};

/// "ok", "unknown" or "impossible".
std::string_view Name(RooflineState state);

/// Work and its duration.
struct RooflineWork {
  double flops = 0;
  double bytes = 0;
  DurationNs time{};  ///< Duration of the kernels that did the work.
  DType math_dtype = DType::kUnknown;
  TensorCoreUse tensor_cores = TensorCoreUse::kUnknown;
  /// A kernel of the work belongs to a Winograd or FFT convolution, so `flops` exceeds the executed
  /// operations. The point then has no share of the peak and, if compute-bound, no attainable time.
  bool fast_algorithm = false;
  /// `bytes` or `math_dtype` depend on an assumed element type that was not recorded (see
  /// OperatorCost::assumes_fp32). All results are unknown then.
  bool assumed_dtype = false;
};

/// Result of PlaceOnRoofline; unknown figures are nullopt.
struct RooflinePoint {
  std::optional<double> attainable_us;   ///< max(flops / peak, bytes / bandwidth).
  std::optional<double> peak_flops_pct;  ///< 100 * flops / (time * peak).
  Bound bound = Bound::kUnknown;
  RooflineState state = RooflineState::kUnknown;
};

/// Returns the peak in FLOP/s for arithmetic in `dtype`; nullopt if the data sheet does not state
/// it or if the type has no arithmetic.
///
/// kTF32, kBF16, kF16, kF8: dense tensor peak.
/// kF32, kF64: vector peak if `tensor_cores` is kNo, matrix peak if kYes. If unknown, the larger of
/// the two, so that a share of the peak is never overstated.
std::optional<double> PeakFlopsPerSecond(const DeviceSpec& device, DType dtype,
                                         TensorCoreUse tensor_cores);

/// Returns the type in which the arithmetic ran: TF32 for a float32 operator whose kernel name
/// shows TF32. Otherwise returns the operator's type, or the kernel's if the operator's is unknown.
DType ResolveMathDType(DType operator_dtype, const KernelClass& kernel);

/// Compares work with the roofline of a device. All results are unknown if `device` is null.
RooflinePoint PlaceOnRoofline(const RooflineWork& work, const DeviceSpec* device);

/// Model FLOPs utilization.
struct Mfu {
  RooflineState state = RooflineState::kUnknown;
  std::optional<double> pct;
  std::optional<double> peak_tflops;  ///< Dense, per GPU.
};

/// Returns MFU in percent = 100 * flops / (time * dense_peak(dtype) * gpus) (Chowdhery et al.,
/// "PaLM", 2022, appendix B).
///
/// @param flops  model FLOPs of all `gpus` together in `time`, without recomputation
/// @param gpus   >= 1
Mfu ComputeMfu(double flops, DurationNs time, int gpus, DType dtype, const DeviceSpec* device);

}  // namespace headroom
