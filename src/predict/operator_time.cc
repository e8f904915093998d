#include "predict/operator_time.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/units.h"
#include "cost/kernel_time.h"
#include "cost/roofline.h"
#include "predict/kernel_model.h"
#include "predict/memory_time.h"
#include "predict/vector_time.h"

namespace headroom {
namespace {

/// Of several extents, the side of a square of the same size.
double SideOf(const std::vector<std::int64_t>& extents) {
  const double product =
      std::accumulate(extents.begin(), extents.end(), 1.0,
                      [](double a, std::int64_t b) { return a * static_cast<double>(b); });
  return std::sqrt(product);
}

bool OnTensorCores(DType dtype) {
  return dtype == DType::kTF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// The type that products run in on a device: float32 where it has no tensor cores for theirs, or
/// where the type is not known.
DType TypeOn(const DeviceRates& rates, DType dtype) {
  if (dtype == DType::kUnknown) return DType::kF32;
  if (!OnTensorCores(dtype)) return dtype;
  return PeakFlopsPerSecond(*rates.device, dtype, TensorCoreUse::kYes) ? dtype : DType::kF32;
}

DType TypeOn(const DeviceRates& rates, const OperatorWork& work) {
  const DType dtype = ResolveMathDType(work.cost->math_dtype, work.longest);
  const bool tf32 = work.allows_tf32 && dtype == DType::kF32 &&
                    work.cost->family == WorkFamily::kConvolution &&
                    rates.device->vendor == "NVIDIA";
  return TypeOn(rates, tf32 ? DType::kTF32 : dtype);
}

/// In FLOP/s; nullopt: the data sheet does not tell.
std::optional<double> PeakOf(const DeviceRates& rates, DType dtype) {
  if (dtype == DType::kF32) return rates.flops_per_ns * kNsPerS;
  // Not every GPU has matrix units for float64.
  const TensorCoreUse units = dtype == DType::kF64 ? TensorCoreUse::kUnknown : TensorCoreUse::kYes;
  return PeakFlopsPerSecond(*rates.device, dtype, units);
}

/// A recorded product or convolution as a piece of work, so many times.
struct ShapedWork {
  KernelWork work;
  double times = 1;
};

std::optional<ShapedWork> ShapedWorkOf(const OperatorCall& call, DType dtype) {
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
    return ShapedWork{.work = {.shape = product, .dtype = dtype}};
  }
  const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call);
  if (!shape || IsFewChannelsConvolution(call)) return std::nullopt;
  const auto groups = static_cast<double>(shape->groups);
  // A transposed convolution is the data gradient of one from its results to its operand.
  const auto [from, to] =
      shape->transposed ? std::pair(&shape->out, &shape->in) : std::pair(&shape->in, &shape->out);
  const auto [channels, results] = shape->transposed
                                       ? std::pair(shape->out_channels, shape->in_channels)
                                       : std::pair(shape->in_channels, shape->out_channels);
  ConvolutionWork work = {.batch = static_cast<double>(shape->batch) * groups,
                          .in_channels = static_cast<double>(channels) / groups,
                          .out_channels = static_cast<double>(results) / groups,
                          .kernel = SideOf(shape->kernel),
                          .image = SideOf(*from)};
  const double out = SideOf(*to);
  work.stride = std::max(1.0, std::round(work.image / out));
  // What gives the recorded output, whatever the sides were.
  work.padding = ((out - 1) * work.stride + work.kernel - work.image) / 2 + 1e-6;
  work.plain = !shape->transposed && shape->groups == 1 && !shape->dilated &&
               shape->kernel == std::vector<std::int64_t>(2, shape->kernel.front());
  const int gradients = (shape->data_gradient ? 1 : 0) + (shape->weight_gradient ? 1 : 0);
  return ShapedWork{.work = {.shape = work, .dtype = dtype},
                    .times = static_cast<double>(std::max(1, gradients))};
}

/// On tensor cores, with the layout that the call says.
std::optional<double> TensorCoreNs(const OperatorCall& call, const ShapedWork& shaped,
                                   const DeviceRates& rates) {
  const DType dtype = shaped.work.dtype;
  const double sustained = rates.clock_share;
  std::optional<DurationNs> time;
  if (const std::optional<GemmShape> product = GemmShapeOf(call)) {
    time = TensorCoreGemmTime(*product, LayoutOf(call, *product, dtype), dtype, *rates.device,
                              sustained);
  } else if (const std::optional<ConvolutionShape> convolution = ConvolutionShapeOf(call)) {
    time = TensorCoreConvolutionTime(*convolution, dtype, *rates.device,
                                     ActivationOrder::kChannelsFirst, sustained);
  }
  if (!time) return std::nullopt;
  return static_cast<double>(time->ns()) * std::exp(CorrectionOf(shaped.work, rates).log_factor);
}

std::optional<double> ShapedNs(const OperatorCall& call, DType dtype, const DeviceRates& rates,
                               const KernelConstants& constants) {
  const std::optional<ShapedWork> shaped = ShapedWorkOf(call, dtype);
  if (!shaped) return std::nullopt;
  if (dtype != DType::kF32) return TensorCoreNs(call, *shaped, rates);
  const std::optional<double> once = KernelNs(shaped->work, rates, constants);
  if (!once) return std::nullopt;
  return *once * shaped->times;
}

/// What an operator without a model of its own is like: bytes that are moved.
KernelWork MovedBytes(const OperatorCost& cost) {
  return {.shape = PointwiseWork{.bytes = std::max(1.0, static_cast<double>(cost.bytes))}};
}

std::optional<double> RooflineNs(const OperatorCost& cost, DType dtype, const DeviceRates& rates,
                                 const KernelConstants& constants) {
  const double memory = PointwiseNs({.bytes = cost.bytes}, rates);
  const std::optional<double> peak = PeakOf(rates, dtype);
  // Without a peak, arithmetic is not free: nothing is known.
  if (!peak && cost.flops > 0) return std::nullopt;
  const double sustained = OnTensorCores(dtype) ? rates.clock_share : rates.sustained_share;
  const double compute = peak ? cost.flops * kNsPerS / (*peak * sustained) : 0;
  return std::max(memory, compute) + constants.start_us * kNsPerUs;
}

/// The type whose units compute it: convolutions of few channels a group have no tensor cores.
DType UnitsOf(const OperatorWork& work, DType dtype) {
  const bool few = work.call != nullptr && IsFewChannelsConvolution(*work.call);
  return few && OnTensorCores(dtype) ? DType::kF32 : dtype;
}

/// Whether it has a model of its own, of its shape.
bool IsModelled(const OperatorWork& work, DType dtype) {
  return work.call != nullptr && (dtype == DType::kF32 || OnTensorCores(dtype)) &&
         MultipliesMatrices(work.cost->family);
}

}  // namespace

std::optional<double> FullPowerNs(const OperatorWork& work, const DeviceRates& rates) {
  if (work.cost == nullptr || !rates.device->memory_bandwidth_gbs) return std::nullopt;
  const std::optional<double> peak = PeakOf(rates, TypeOn(rates, work));
  const double arithmetic =
      peak ? work.cost->flops / (*peak * rates.full_power_share) * kNsPerS : 0;
  return arithmetic + work.cost->bytes / *rates.device->memory_bandwidth_gbs;
}

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

std::optional<double> OperatorNs(const OperatorWork& work, const DeviceRates& rates,
                                 const KernelConstants& constants) {
  if (work.cost == nullptr) return std::nullopt;
  const DType dtype = TypeOn(rates, work);
  if (IsModelled(work, dtype)) {
    const std::optional<double> ns = ShapedNs(*work.call, dtype, rates, constants);
    // A library has kernels on vector units for these types, too.
    const std::optional<double> plain =
        OnTensorCores(dtype) ? ShapedNs(*work.call, DType::kF32, rates, constants) : std::nullopt;
    if (ns) return plain ? std::min(*ns, *plain) : *ns;
  }
  return RooflineNs(*work.cost, UnitsOf(work, dtype), rates, constants);
}

Correction CorrectionOf(const OperatorWork& work, const DeviceRates& rates) {
  if (work.cost == nullptr || !rates.correction) return {};
  const DType dtype = TypeOn(rates, work);
  const std::optional<ShapedWork> shaped =
      IsModelled(work, dtype) ? ShapedWorkOf(*work.call, dtype) : std::optional<ShapedWork>();
  if (shaped) return CorrectionOf(shaped->work, rates);
  // Kernels that move bytes tell nothing of one that computes.
  const std::optional<double> peak = PeakOf(rates, UnitsOf(work, dtype));
  const double arithmetic = peak ? work.cost->flops / *peak * kNsPerS : 0;
  if (arithmetic > work.cost->bytes / rates.bytes_per_ns) return {};
  return CorrectionOf(MovedBytes(*work.cost), rates);
}

bool HasOwnModel(const OperatorWork& work, const DeviceRates& rates) {
  if (work.cost == nullptr) return false;
  const DType dtype = TypeOn(rates, work);
  return IsModelled(work, dtype) && ShapedWorkOf(*work.call, dtype).has_value();
}

bool RunsOnTensorCores(const OperatorWork& work, const DeviceRates& rates) {
  return work.cost != nullptr && MultipliesMatrices(work.cost->family) &&
         OnTensorCores(UnitsOf(work, TypeOn(rates, work)));
}

}  // namespace headroom
