#include "kernels/kernel_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>

#include "base/units.h"
#include "cost/roofline.h"
#include "kernels/memory_time.h"
#include "kernels/tensor_core_time.h"
#include "kernels/vector_time.h"

namespace headroom {
namespace {

std::optional<double> NsOf(const std::optional<DurationNs>& time) {
  if (!time) return std::nullopt;
  return static_cast<double>(time->ns());
}

std::optional<double> TensorCoreNs(const ProductWork& work, DType dtype, const DeviceRates& rates) {
  const GemmShape shape = {.batch = static_cast<std::int64_t>(work.batch),
                           .m = static_cast<std::int64_t>(work.m),
                           .n = static_cast<std::int64_t>(work.n),
                           .k = static_cast<std::int64_t>(work.k),
                           .dtype = dtype};
  const std::int64_t multiple = dtype == DType::kTF32 ? 4 : 8;  // Elements in 16 bytes.
  const std::int64_t first = work.first_along_k ? shape.k : shape.m;
  const std::int64_t second = work.second_along_k ? shape.k : shape.n;
  const GemmLayout layout = {
      .aligned = first % multiple == 0 && second % multiple == 0 && shape.n % multiple == 0,
      .transposed_first = !work.first_along_k,
      .transposed_second = work.second_along_k};
  return NsOf(TensorCoreGemmTime(shape, layout, dtype, *rates.device, rates.clock_share));
}

std::optional<double> TensorCoreNs(const ConvolutionWork& work, DType dtype,
                                   const DeviceRates& rates) {
  const auto whole = [](double value) { return static_cast<std::int64_t>(value); };
  const std::int64_t out = whole(OutputSide(work));
  const ConvolutionShape shape = {.batch = whole(work.batch),
                                  .in_channels = whole(work.in_channels),
                                  .out_channels = whole(work.out_channels),
                                  .groups = 1,
                                  .in = {whole(work.image), whole(work.image)},
                                  .kernel = {whole(work.kernel), whole(work.kernel)},
                                  .out = {out, out},
                                  .dtype = dtype};
  return NsOf(TensorCoreConvolutionTime(shape, dtype, *rates.device,
                                        ActivationOrder::kChannelsFirst, rates.clock_share));
}

}  // namespace

WorkClass ClassOf(const KernelWork& work) {
  struct Visitor {
    WorkClass operator()(const ProductWork&) const { return WorkClass::kProduct; }
    WorkClass operator()(const ConvolutionWork&) const { return WorkClass::kConvolution; }
    WorkClass operator()(const PointwiseWork&) const { return WorkClass::kPointwise; }
    WorkClass operator()(const RowwiseWork&) const { return WorkClass::kRowwise; }
  };
  return std::visit(Visitor(), work.shape);
}

double Operations(const KernelWork& work) {
  if (const auto* product = std::get_if<ProductWork>(&work.shape))
    return 2 * product->batch * product->m * product->k * product->n;
  if (const auto* convolution = std::get_if<ConvolutionWork>(&work.shape)) {
    const double out = OutputSide(*convolution);
    return 2 * convolution->batch * out * out * convolution->out_channels *
           convolution->in_channels * convolution->kernel * convolution->kernel;
  }
  if (const auto* rows = std::get_if<RowwiseWork>(&work.shape))
    return 2 * BytesPerElement(work.dtype) * rows->rows * rows->columns;
  return std::get<PointwiseWork>(work.shape).bytes;
}

namespace {

/// Times in nanoseconds at the data sheet's rates.
struct FullRate {
  double arithmetic = 0, bytes = 0;
};

FullRate FullRateOf(const KernelWork& work, const DeviceRates& rates) {
  const double size = BytesPerElement(work.dtype);
  double flops = Operations(work), bytes = 0;
  if (const auto* product = std::get_if<ProductWork>(&work.shape)) {
    bytes = size * product->batch *
            (product->m * product->k + product->k * product->n + product->m * product->n);
  } else if (const auto* convolution = std::get_if<ConvolutionWork>(&work.shape)) {
    const ConvolutionWork& c = *convolution;
    const double out = OutputSide(c);
    bytes = size * (c.batch * (c.in_channels * c.image * c.image + out * out * c.out_channels) +
                    c.in_channels * c.out_channels * c.kernel * c.kernel);
  } else {
    bytes = std::exchange(flops, 0);
  }
  const std::optional<double> peak =
      work.dtype == DType::kF32
          ? std::optional(rates.flops_per_ns * kNsPerS)
          : PeakFlopsPerSecond(*rates.device, work.dtype, TensorCoreUse::kYes);
  return {.arithmetic = peak ? flops / *peak * kNsPerS : 0,
          .bytes = bytes / *rates.device->memory_bandwidth_gbs};
}

}  // namespace

double FullRateNs(const KernelWork& work, const DeviceRates& rates) {
  const FullRate full = FullRateOf(work, rates);
  return full.arithmetic + full.bytes;
}

double FullPowerNs(const KernelWork& work, const DeviceRates& rates) {
  const FullRate full = FullRateOf(work, rates);
  return full.arithmetic / rates.full_power_share + full.bytes;
}

namespace {

std::optional<double> ModelledNs(const KernelWork& work, const DeviceRates& rates,
                                 const KernelConstants& constants) {
  const double start = constants.start_us * kNsPerUs;
  const double size = BytesPerElement(work.dtype);
  if (const auto* rows = std::get_if<RowwiseWork>(&work.shape))
    return RowwiseNs(*rows, size, rates, constants) + start;
  if (const auto* pointwise = std::get_if<PointwiseWork>(&work.shape))
    return PointwiseNs(*pointwise, rates) + start * pointwise->kernels;
  const auto* product = std::get_if<ProductWork>(&work.shape);
  const auto* convolution = std::get_if<ConvolutionWork>(&work.shape);
  if (!IsTensorCoreType(work.dtype) && work.dtype != DType::kF32) return std::nullopt;
  const double vector = (product != nullptr ? ProductNs(*product, rates, constants)
                                            : ConvolutionNs(*convolution, rates, constants)) +
                        start;
  if (work.dtype == DType::kF32) return vector;
  const std::optional<double> tensor_cores = product != nullptr
                                                 ? TensorCoreNs(*product, work.dtype, rates)
                                                 : TensorCoreNs(*convolution, work.dtype, rates);
  if (!tensor_cores) return std::nullopt;
  // A library also has kernels on vector units for these types.
  return std::min(*tensor_cores, vector);
}

}  // namespace

std::optional<double> KernelNs(const KernelWork& work, const DeviceRates& rates,
                               const KernelConstants& constants) {
  const std::optional<double> ns = ModelledNs(work, rates, constants);
  if (!ns || !rates.correction) return ns;
  return *ns * std::exp(rates.correction->At(work).log_factor);
}

}  // namespace headroom
