#include "cost/roofline.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

std::optional<double> Times(std::optional<double> value, double factor) {
  return value ? std::optional(*value * factor) : std::nullopt;
}

/// Vector or matrix peak in TFLOP/s. Returns the larger one if `use` is unknown.
std::optional<double> Choose(std::optional<double> vector, std::optional<double> matrix,
                             TensorCoreUse use) {
  if (use == TensorCoreUse::kNo) return vector;
  if (use == TensorCoreUse::kYes) return matrix;
  if (!vector || !matrix) return vector ? vector : matrix;
  return std::max(*vector, *matrix);
}

double Seconds(DurationNs time) { return static_cast<double>(time.ns()) / 1e9; }

/// Returns true if `bytes` exceed the memory traffic possible in the time plus the size of the
/// largest cache. Returns false if no cache size is known.
bool MovesTooMuch(double bytes, double seconds, const DeviceSpec& device) {
  const std::optional<double> cached = std::max(device.l2_bytes, device.l3_bytes);
  const std::optional<double> bandwidth = Times(device.memory_bandwidth_gbs, kGiga);
  return cached && bandwidth && seconds > 0 && bytes - *cached > seconds * *bandwidth;
}

}  // namespace

std::string_view Name(Bound bound) {
  switch (bound) {
    case Bound::kCompute:
      return "compute";
    case Bound::kMemory:
      return "memory";
    case Bound::kUnknown:
      break;
  }
  return "unknown";
}

std::string_view Name(RooflineState state) {
  switch (state) {
    case RooflineState::kOk:
      return "ok";
    case RooflineState::kImpossible:
      return "impossible";
    case RooflineState::kUnknown:
      break;
  }
  return "unknown";
}

std::optional<double> PeakFlopsPerSecond(const DeviceSpec& device, DType dtype,
                                         TensorCoreUse tensor_cores) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return Times(Choose(device.fp64_tflops, device.fp64_tensor_tflops, tensor_cores), kTera);
    case DType::kF32:
    case DType::kC64:
      // NVIDIA's tensor cores accept float32 operands as TF32 only, so their float32 peak is the
      // TF32 peak.
      if (tensor_cores == TensorCoreUse::kYes && !device.fp32_matrix_tflops) {
        return Times(device.tf32_tensor_tflops, kTera);
      }
      return Times(Choose(device.fp32_tflops, device.fp32_matrix_tflops, tensor_cores), kTera);
    case DType::kTF32:
      return Times(device.tf32_tensor_tflops, kTera);
    case DType::kBF16:
      return Times(device.bf16_tensor_tflops, kTera);
    case DType::kF16:
      return Times(device.fp16_tensor_tflops, kTera);
    case DType::kF8:
      return Times(device.fp8_tensor_tflops, kTera);
    case DType::kI8:
      return Times(device.int8_tensor_tops, kTera);
    default:
      return std::nullopt;
  }
}

DType ResolveMathDType(DType operator_dtype, const KernelClass& kernel) {
  if (operator_dtype == DType::kUnknown) return kernel.math_dtype;
  if (operator_dtype == DType::kF32 && kernel.math_dtype == DType::kTF32) return DType::kTF32;
  return operator_dtype;
}

RooflinePoint PlaceOnRoofline(const RooflineWork& work, const DeviceSpec* device) {
  RooflinePoint point;
  const bool sane =
      std::isfinite(work.flops) && std::isfinite(work.bytes) && work.flops >= 0 && work.bytes >= 0;
  if (!sane || work.assumed_dtype || device == nullptr) return point;

  const std::optional<double> peak =
      PeakFlopsPerSecond(*device, work.math_dtype, work.tensor_cores);
  const std::optional<double> bandwidth = Times(device->memory_bandwidth_gbs, kGiga);
  const double seconds = Seconds(work.time);
  if (peak && seconds > 0 && !work.fast_algorithm)
    point.peak_flops_pct = 100 * work.flops / (seconds * *peak);
  const bool too_fast =
      point.peak_flops_pct.value_or(0) > 100 || MovesTooMuch(work.bytes, seconds, *device);
  // Without FLOPs the peak does not matter; without bytes the bandwidth does not.
  const bool compute_known = work.flops == 0 || peak;
  const bool memory_known = work.bytes == 0 || bandwidth;
  if (compute_known && memory_known && work.flops + work.bytes > 0) {
    const double compute_s = work.flops == 0 ? 0 : work.flops / *peak;
    const double memory_s = work.bytes == 0 ? 0 : work.bytes / *bandwidth;
    const bool compute_bound = compute_s > memory_s;
    if (!compute_bound || !work.fast_algorithm) {
      point.attainable_us = 1e6 * std::max(compute_s, memory_s);
      point.bound = compute_bound ? Bound::kCompute : Bound::kMemory;
      if (seconds > 0) point.state = RooflineState::kOk;
    }
  }
  if (too_fast) point.state = RooflineState::kImpossible;
  return point;
}

Mfu ComputeMfu(double flops, DurationNs time, int gpus, DType dtype, const DeviceSpec* device) {
  Mfu mfu;
  if (device == nullptr || !std::isfinite(flops) || flops < 0 || time.ns() <= 0 || gpus < 1)
    return mfu;
  const std::optional<double> peak = PeakFlopsPerSecond(*device, dtype, TensorCoreUse::kUnknown);
  if (!peak) return mfu;
  mfu.peak_tflops = *peak / kTera;
  mfu.pct = 100 * flops / (Seconds(time) * *peak * gpus);
  mfu.state = *mfu.pct > 100 ? RooflineState::kImpossible : RooflineState::kOk;
  return mfu;
}

}  // namespace headroom
