// Roofline: how close a piece of work came to what its GPU allows, and which limit it met.
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

/// Which limit comes first for the work at hand.
enum class Bound { kUnknown, kCompute, kMemory };

/// "compute", "memory" or "unknown".
std::string_view Name(Bound bound);

/// How far a figure can be trusted.
enum class RooflineState {
  kOk,
  kUnknown,  ///< A figure of the device, the type or the work is missing or assumed; what is known
             ///< is filled in.
  /// Faster than the peak, or more bytes than memory delivers in the time plus what the last-level
  /// cache can hold (not tested where the size of that cache is unknown): the shapes, the time, the
  /// type or the device are wrong. Report as an error, never clamp.
  kImpossible,
};

/// "ok", "unknown" or "impossible".
std::string_view Name(RooflineState state);

/// Work done and the time it took.
struct RooflineWork {
  double flops = 0;
  double bytes = 0;
  DurationNs time{};  ///< Of the kernels that did the work.
  DType math_dtype = DType::kUnknown;
  TensorCoreUse tensor_cores = TensorCoreUse::kUnknown;
  /// Some kernel of the work was of a Winograd or FFT convolution: `flops` counts more than was
  /// done. No share of the peak, no attainable time and no compute bound can be given then.
  bool fast_algorithm = false;
  /// `bytes` or `math_dtype` rest on an element type that was assumed, not recorded (see
  /// OperatorCost::assumes_fp32): nothing can be said.
  bool assumed_dtype = false;
};

/// Missing figures are nullopt.
struct RooflinePoint {
  std::optional<double> attainable_us;   ///< max(flops / peak, bytes / bandwidth).
  std::optional<double> peak_flops_pct;  ///< 100 * flops / (time * peak).
  Bound bound = Bound::kUnknown;
  RooflineState state = RooflineState::kUnknown;
};

/// Peak in FLOP/s for arithmetic in `dtype`; nullopt if the data sheet does not give it (or the
/// type is not arithmetic).
///
/// kTF32, kBF16, kF16, kF8: dense tensor peak. kF32, kF64: vector peak if `tensor_cores` is kNo,
/// matrix peak if kYes; where that is unknown, the larger of the two, so that a share of the peak
/// is never overstated.
std::optional<double> PeakFlopsPerSecond(const DeviceSpec& device, DType dtype,
                                         TensorCoreUse tensor_cores);

/// The type that the arithmetic really ran in: an operator on float32 whose kernel says TF32 ran in
/// TF32; otherwise the operator's own type, or the kernel's where the operator's is unknown.
DType ResolveMathDType(DType operator_dtype, const KernelClass& kernel);

/// `device` may be null (unknown GPU): then nothing is known.
RooflinePoint PlaceOnRoofline(const RooflineWork& work, const DeviceSpec* device);

/// Model FLOPs utilization.
struct Mfu {
  RooflineState state = RooflineState::kUnknown;
  std::optional<double> pct;
  std::optional<double> peak_tflops;  ///< Dense, per GPU.
};

/// MFU in percent = 100 * flops / (time * dense_peak(dtype) * gpus) (Chowdhery et al., "PaLM",
/// 2022, appendix B).
///
/// @param flops  of all `gpus` together in `time`: those of the model, without recomputation
/// @param gpus   >= 1
Mfu ComputeMfu(double flops, DurationNs time, int gpus, DType dtype, const DeviceSpec* device);

}  // namespace headroom
