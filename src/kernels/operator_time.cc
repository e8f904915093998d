#include "kernels/operator_time.h"

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "cost/roofline.h"
#include "kernels/kernel_model.h"
#include "kernels/memory_time.h"
#include "kernels/tensor_core_time.h"

namespace headroom {
namespace {

/// Returns the type in which products run on a device: float32 if the type is unknown or the
/// device has no tensor cores for it.
DType TypeOn(const DeviceRates& rates, DType dtype) {
  if (dtype == DType::kUnknown) return DType::kF32;
  if (!IsTensorCoreType(dtype)) return dtype;
  return PeakFlopsPerSecond(*rates.device, dtype, TensorCoreUse::kYes) ? dtype : DType::kF32;
}

DType TypeOn(const DeviceRates& rates, const OperatorWork& work) {
  const DType dtype = ResolveMathDType(work.cost->math_dtype, work.longest);
  const bool tf32 = work.allows_tf32 && dtype == DType::kF32 &&
                    work.cost->family == WorkFamily::kConvolution &&
                    rates.device->vendor == "NVIDIA";
  return TypeOn(rates, tf32 ? DType::kTF32 : dtype);
}

/// Returns FLOP/s; nullopt if the data sheet lacks the peak.
std::optional<double> PeakOf(const DeviceRates& rates, DType dtype) {
  if (dtype == DType::kF32) return rates.flops_per_ns * kNsPerS;
  // Not every GPU has matrix units for float64.
  const TensorCoreUse units = dtype == DType::kF64 ? TensorCoreUse::kUnknown : TensorCoreUse::kYes;
  return PeakFlopsPerSecond(*rates.device, dtype, units);
}

/// Models an operator without a specific model as moved bytes.
KernelWork MovedBytes(const OperatorCost& cost) {
  return {.shape = PointwiseWork{.bytes = std::max(1.0, static_cast<double>(cost.bytes))}};
}

/// Returns the type whose units compute the operator. Convolutions with few channels per group run
/// without tensor cores.
DType UnitsOf(const OperatorWork& work, DType dtype) {
  const bool few = work.call != nullptr && IsFewChannelsConvolution(*work.call);
  return few && IsTensorCoreType(dtype) ? DType::kF32 : dtype;
}

/// Returns true if the operator can have a model of its shape.
bool MayHaveModel(const OperatorWork& work, DType dtype) {
  return work.call != nullptr && (dtype == DType::kF32 || IsTensorCoreType(dtype)) &&
         MultipliesMatrices(work.cost->family);
}

}  // namespace

WorkClass ClassOf(const OperatorWork& work) {
  const WorkFamily family = work.cost != nullptr ? work.cost->family : work.longest.family;
  switch (family) {
    case WorkFamily::kMatmul:
      return WorkClass::kProduct;
    case WorkFamily::kConvolution:
      return WorkClass::kConvolution;
    case WorkFamily::kNormalization:
    case WorkFamily::kSoftmax:
    case WorkFamily::kReduction:
    case WorkFamily::kLoss:
      return WorkClass::kRowwise;
    case WorkFamily::kElementwise:
    case WorkFamily::kOptimizer:
    case WorkFamily::kRandom:
    case WorkFamily::kCopy:
    case WorkFamily::kFill:
    case WorkFamily::kFused:
      return WorkClass::kPointwise;
    default:
      return WorkClass::kOther;
  }
}

OperatorOnGpu::OperatorOnGpu(const OperatorWork& work, const DeviceRates& rates)
    : work_(work), rates_(rates) {
  if (work.cost == nullptr) return;
  dtype_ = TypeOn(rates, work);
  units_ = UnitsOf(work, dtype_);
  peak_ = PeakOf(rates, units_);
  if (MayHaveModel(work, dtype_)) shape_ = ShapeOf(*work.call, dtype_);
}

std::optional<OperatorOnGpu::Shape> OperatorOnGpu::ShapeOf(const OperatorCall& call, DType dtype) {
  if (const std::optional<GemmShape> shape = GemmShapeOf(call)) {
    const bool batched = call.name == "aten::bmm" || call.name == "aten::baddbmm";
    const GemmLayout layout = LayoutOf(call, *shape, dtype);
    const ProductWork product = {.batch = static_cast<double>(shape->batch),
                                 .m = static_cast<double>(shape->m),
                                 .k = static_cast<double>(shape->k),
                                 .n = static_cast<double>(shape->n),
                                 .batched = batched || shape->batch > 1,
                                 .first_along_k = !layout.transposed_first,
                                 .second_along_k = layout.transposed_second};
    return Shape{.work = {.shape = product, .dtype = dtype}, .product = shape};
  }
  const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call);
  if (!shape || IsFewChannelsConvolution(call)) return std::nullopt;
  const ConvolutionWork work = SquareOf(*shape);
  const int gradients = (shape->data_gradient ? 1 : 0) + (shape->weight_gradient ? 1 : 0);
  return Shape{.work = {.shape = work, .dtype = dtype},
               .times = static_cast<double>(std::max(1, gradients)),
               .convolution = shape};
}

std::optional<double> OperatorOnGpu::TensorCoreNs(const KernelConstants& constants) const {
  const double sustained = rates_.clock_share;
  const std::optional<DurationNs> time =
      shape_->product
          ? TensorCoreGemmTime(*shape_->product, LayoutOf(*work_.call, *shape_->product, dtype_),
                               dtype_, *rates_.device, sustained, constants.tensor_cores)
          : TensorCoreConvolutionTime(*shape_->convolution, dtype_, *rates_.device,
                                      ActivationOrder::kChannelsFirst, sustained);
  if (!time) return std::nullopt;
  return static_cast<double>(time->ns()) * std::exp(CorrectionOf(shape_->work, rates_).log_factor);
}

std::optional<double> OperatorOnGpu::ShapeNs(DType dtype, const KernelConstants& constants) const {
  if (dtype != DType::kF32) return TensorCoreNs(constants);
  KernelWork work = shape_->work;
  work.dtype = dtype;
  const std::optional<double> once = KernelNs(work, rates_, constants);
  if (!once) return std::nullopt;
  return *once * shape_->times;
}

double OperatorOnGpu::RooflineNs(const KernelConstants& constants) const {
  const double memory = PointwiseNs({.bytes = work_.cost->bytes}, rates_);
  const double sustained = IsTensorCoreType(units_) ? rates_.clock_share : rates_.sustained_share;
  const double compute = peak_ ? work_.cost->flops * kNsPerS / (*peak_ * sustained) : 0;
  return std::max(memory, compute) + constants.start_us * kNsPerUs;
}

std::optional<double> OperatorOnGpu::Ns(const KernelConstants& constants) const {
  if (work_.cost == nullptr) return std::nullopt;
  if (shape_) {
    const std::optional<double> ns = ShapeNs(dtype_, constants);
    // A library also has kernels on vector units for these types.
    const std::optional<double> plain =
        IsTensorCoreType(dtype_) ? ShapeNs(DType::kF32, constants) : std::nullopt;
    if (ns) return plain ? std::min(*ns, *plain) : *ns;
  }
  // Without a peak, the time of the arithmetic is unknown, not 0.
  if (!peak_ && work_.cost->flops > 0) return std::nullopt;
  return RooflineNs(constants);
}

Correction OperatorOnGpu::MeasuredCorrection() const {
  if (work_.cost == nullptr || !rates_.correction) return {};
  if (shape_) return CorrectionOf(shape_->work, rates_);
  // Memory-bound kernels give no evidence about a compute-bound kernel.
  const double arithmetic = peak_ ? work_.cost->flops / *peak_ * kNsPerS : 0;
  if (arithmetic > work_.cost->bytes / rates_.bytes_per_ns) return {};
  return CorrectionOf(MovedBytes(*work_.cost), rates_);
}

bool OperatorOnGpu::on_tensor_cores() const {
  return work_.cost != nullptr && MultipliesMatrices(work_.cost->family) &&
         IsTensorCoreType(units_);
}

std::optional<double> OperatorOnGpu::FullPowerNs() const {
  if (work_.cost == nullptr || !rates_.device->memory_bandwidth_gbs) return std::nullopt;
  // Uses the peak of the type, although few channels per group leave its units unused.
  const std::optional<double> peak = PeakOf(rates_, dtype_);
  const double arithmetic =
      peak ? work_.cost->flops / (*peak * rates_.full_power_share) * kNsPerS : 0;
  return arithmetic + work_.cost->bytes / *rates_.device->memory_bandwidth_gbs;
}

}  // namespace headroom
