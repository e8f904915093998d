#include "kernels/kernel_model.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>
#include <variant>

#include "base/units.h"
#include "cost/roofline.h"
#include "kernels/fused_kernel_time.h"
#include "kernels/memory_time.h"
#include "kernels/recurrent_time.h"
#include "kernels/tensor_core_time.h"
#include "kernels/vector_time.h"

namespace headroom {
namespace {

std::optional<double> NsOf(const std::optional<DurationNs>& time) {
  if (!time) return std::nullopt;
  return static_cast<double>(time->ns());
}

/// Returns the side of a square with the same area as the extents.
double SideOf(const std::vector<std::int64_t>& extents) {
  const double product =
      std::accumulate(extents.begin(), extents.end(), 1.0,
                      [](double a, std::int64_t b) { return a * static_cast<double>(b); });
  return std::sqrt(product);
}

std::optional<double> TensorCoreNs(const ProductWork& work, DType dtype, const DeviceRates& rates,
                                   const KernelConstants& constants) {
  const GemmShape shape = {.batch = static_cast<std::int64_t>(work.batch),
                           .m = static_cast<std::int64_t>(work.m),
                           .n = static_cast<std::int64_t>(work.n),
                           .k = static_cast<std::int64_t>(work.k),
                           .dtype = dtype};
  constexpr std::int64_t kAlignment = 16;  // Bytes.
  const std::int64_t multiple = kAlignment / BytesPerElement(dtype);
  const std::int64_t first = work.first_along_k ? shape.k : shape.m;
  const std::int64_t second = work.second_along_k ? shape.k : shape.n;
  const GemmLayout layout = {
      .aligned = first % multiple == 0 && second % multiple == 0 && shape.n % multiple == 0,
      .transposed_first = !work.first_along_k,
      .transposed_second = work.second_along_k};
  return NsOf(TensorCoreGemmTime(shape, layout, dtype, *rates.device, rates.clock_share,
                                 constants.tensor_cores));
}

std::optional<double> TensorCoreNs(const ConvolutionWork& work, DType dtype,
                                   const DeviceRates& rates) {
  return NsOf(TensorCoreConvolutionTime(GeneralShape(work, dtype), dtype, *rates.device,
                                        ActivationOrder::kChannelsFirst, rates.clock_share));
}

/// Returns the number of products: the forward is one, and each gradient is one.
double PartsOf(const ConvolutionShape& shape) {
  return std::max(1, (shape.data_gradient ? 1 : 0) + (shape.weight_gradient ? 1 : 0));
}

}  // namespace

ConvolutionWork SquareOf(const ConvolutionShape& shape) {
  const auto groups = static_cast<double>(shape.groups);
  // A transposed convolution is the data gradient of a convolution from its results to its operand.
  const auto [from, to] =
      shape.transposed ? std::pair(&shape.out, &shape.in) : std::pair(&shape.in, &shape.out);
  const auto [channels, results] = shape.transposed
                                       ? std::pair(shape.out_channels, shape.in_channels)
                                       : std::pair(shape.in_channels, shape.out_channels);
  ConvolutionWork work = {.batch = static_cast<double>(shape.batch) * groups,
                          .in_channels = static_cast<double>(channels) / groups,
                          .out_channels = static_cast<double>(results) / groups,
                          .kernel = SideOf(shape.kernel),
                          .image = SideOf(*from)};
  const double out = SideOf(*to);
  work.stride = std::max(1.0, std::round(work.image / out));
  // Chooses the padding that reproduces the recorded side of the output.
  work.padding = ((out - 1) * work.stride + work.kernel - work.image) / 2 + 1e-6;
  work.plain = !shape.transposed && shape.groups == 1 && !shape.dilated &&
               shape.kernel == std::vector<std::int64_t>(2, shape.kernel.front());
  return work;
}

WorkClass ClassOf(const KernelWork& work) {
  struct Visitor {
    DType dtype;
    WorkClass operator()(const ProductWork&) const {
      return dtype == DType::kF32 ? WorkClass::kProduct : WorkClass::kTensorProduct;
    }
    WorkClass operator()(const ConvolutionShape&) const { return WorkClass::kConvolution; }
    WorkClass operator()(const RecurrentWork&) const { return WorkClass::kOther; }
    WorkClass operator()(const GroupedWork&) const { return WorkClass::kTensorProduct; }
    WorkClass operator()(const AttentionWork&) const { return WorkClass::kAttention; }
    WorkClass operator()(const InstructionWork&) const { return WorkClass::kInstruction; }
    WorkClass operator()(const ConvolutionWork&) const { return WorkClass::kConvolution; }
    WorkClass operator()(const PointwiseWork&) const { return WorkClass::kPointwise; }
    WorkClass operator()(const RowwiseWork&) const { return WorkClass::kRowwise; }
  };
  return std::visit(Visitor{work.dtype}, work.shape);
}

void SetType(DType dtype, KernelWork& work) {
  const double ratio = static_cast<double>(BytesPerElement(dtype)) /
                       static_cast<double>(BytesPerElement(work.dtype));
  if (auto* pointwise = std::get_if<PointwiseWork>(&work.shape)) pointwise->bytes *= ratio;
  if (auto* instructions = std::get_if<InstructionWork>(&work.shape)) {
    instructions->bytes *= ratio;
    if (instructions->kind == InstructionKind::kStatistics) instructions->elements *= ratio;
  }
  work.dtype = dtype;
}

double Operations(const KernelWork& work) {
  if (const auto* product = std::get_if<ProductWork>(&work.shape))
    return 2 * product->batch * product->m * product->k * product->n;
  if (const auto* convolution = std::get_if<ConvolutionWork>(&work.shape)) {
    const double out = OutputSide(*convolution);
    return 2 * convolution->batch * out * out * convolution->out_channels *
           convolution->in_channels * convolution->kernel * convolution->kernel;
  }
  if (const auto* general = std::get_if<ConvolutionShape>(&work.shape))
    return general->FlopsPerPart() * PartsOf(*general);
  if (const auto* recurrent = std::get_if<RecurrentWork>(&work.shape))
    return RecurrentFlops(*recurrent);
  if (const auto* rows = std::get_if<RowwiseWork>(&work.shape))
    return 2 * BytesPerElement(work.dtype) * rows->rows * rows->columns;
  if (const auto* attention = std::get_if<AttentionWork>(&work.shape))
    return AttentionFlops(*attention);
  if (const auto* grouped = std::get_if<GroupedWork>(&work.shape))
    return 2 * grouped->rows * grouped->hidden * grouped->expert_hidden * (grouped->gated ? 3 : 2);
  if (const auto* instructions = std::get_if<InstructionWork>(&work.shape))
    return instructions->bytes;
  return std::get<PointwiseWork>(work.shape).bytes;
}

namespace {

/// Times in nanoseconds at the data sheet's rates.
struct FullRate {
  double arithmetic = 0, bytes = 0;
};

double FullRateBytes(const ConvolutionWork& c, double element_bytes) {
  const double out = OutputSide(c);
  return element_bytes *
         (c.batch * (c.in_channels * c.image * c.image + out * out * c.out_channels) +
          c.in_channels * c.out_channels * c.kernel * c.kernel);
}

FullRate FullRateOf(const KernelWork& work, const DeviceRates& rates) {
  const double size = BytesPerElement(work.dtype);
  double flops = Operations(work), bytes = 0;
  if (const auto* product = std::get_if<ProductWork>(&work.shape)) {
    bytes = size * product->batch *
            (product->m * product->k + product->k * product->n + product->m * product->n);
  } else if (const auto* convolution = std::get_if<ConvolutionWork>(&work.shape)) {
    bytes = FullRateBytes(*convolution, size);
  } else if (const auto* general = std::get_if<ConvolutionShape>(&work.shape)) {
    bytes = FullRateBytes(SquareOf(*general), size) * PartsOf(*general);
  } else if (const auto* recurrent = std::get_if<RecurrentWork>(&work.shape)) {
    bytes = RecurrentBytes(*recurrent, work.dtype);
  } else if (const auto* attention = std::get_if<AttentionWork>(&work.shape)) {
    bytes = AttentionBytes(*attention, work.dtype);
  } else if (const auto* grouped = std::get_if<GroupedWork>(&work.shape)) {
    bytes = size * (std::min(grouped->groups, grouped->rows) * grouped->hidden *
                        grouped->expert_hidden * (grouped->gated ? 3 : 2) +
                    2 * grouped->rows * grouped->hidden);
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

/// Returns the nanoseconds of both products of a mixture of experts, in one batch each.
std::optional<double> GroupedNs(const GroupedWork& work, DType dtype, const DeviceRates& rates,
                                const KernelConstants& constants) {
  // Rows choose groups at random, so few rows leave some groups without any.
  const double groups = std::max(1.0, work.groups * (1 - std::pow(1 - 1 / work.groups, work.rows)));
  const double rows = std::ceil(work.rows / groups);
  const auto product = [&](double k, double n) {
    return TensorCoreNs(
        ProductWork{.batch = groups, .m = rows, .k = k, .n = n, .second_along_k = true}, dtype,
        rates, constants);
  };
  const std::optional<double> up = product(work.hidden, work.expert_hidden * (work.gated ? 2 : 1));
  const std::optional<double> down = product(work.expert_hidden, work.hidden);
  if (!up || !down) return std::nullopt;
  // Kernels that order the rows by group, and the activation between the products.
  constexpr double kOrdering = 8 * kNsPerUs, kTensors = 3;
  const double activation = kTensors * work.rows * work.expert_hidden * BytesPerElement(dtype);
  return *up + *down + kOrdering + PointwiseNs({.bytes = activation}, rates);
}

/// Work of a convolution for which the library has only general kernels.
struct GeneralWork {
  double flops = 0;                                ///< With the channels that the kernels pad.
  double tensor_core_share = 0, vector_share = 0;  ///< Shares of the peaks.
};

/// Returns the work of convolutions in three dimensions, and of transposed ones with strides,
/// dilation or groups; nullopt for others. A transposed convolution multiplies for every result, as
/// if its strides were 1. Measured on A100, A6000 and T4, where the library's choice of an
/// algorithm moved single convolutions by a factor of up to ten.
std::optional<GeneralWork> GeneralWorkOf(const ConvolutionShape& shape) {
  constexpr std::size_t kVolume = 3;
  const bool strided =
      shape.out.size() == shape.in.size() &&
      std::inner_product(shape.out.begin(), shape.out.end(), shape.in.begin(), false,
                         std::logical_or<>(), [](auto out, auto in) { return out > 3 * in / 2; });
  const bool transposed = shape.transposed && (strided || shape.dilated || shape.groups > 1);
  if (!transposed && shape.in.size() != kVolume) return std::nullopt;
  const auto extent = [](std::int64_t value) { return static_cast<double>(value); };
  const double pad = !shape.transposed ? 8 : shape.groups > 1 ? 16 : 32;
  const auto padded = [&](std::int64_t channels) {
    return std::ceil(extent(channels) / extent(shape.groups) / pad) * pad;
  };
  double flops = 2 * extent(shape.batch) * extent(shape.groups) * padded(shape.in_channels) *
                 padded(shape.out_channels);
  for (std::size_t d = 0; d < shape.out.size(); ++d)
    flops *= extent(shape.out[d]) * extent(shape.kernel[d]);
  return GeneralWork{.flops = flops * PartsOf(shape),
                     .tensor_core_share = shape.transposed ? 0.3 : 0.17,
                     .vector_share = shape.transposed ? 0.8 : 0.18};
}

std::optional<double> GeneralConvolutionNs(const ConvolutionShape& shape, DType dtype,
                                           const DeviceRates& rates,
                                           const KernelConstants& constants) {
  const double start = constants.start_us * kNsPerUs;
  const std::optional<GeneralWork> general = GeneralWorkOf(shape);
  double vector = PartsOf(shape) * (ConvolutionNs(SquareOf(shape), rates, constants) + start);
  if (general) vector = start + general->flops / (rates.flops_per_ns * general->vector_share);
  if (dtype == DType::kF32) return vector;
  const std::optional<double> peak = PeakFlopsPerSecond(*rates.device, dtype, TensorCoreUse::kYes);
  std::optional<double> tensor_cores = NsOf(TensorCoreConvolutionTime(
      shape, dtype, *rates.device,
      shape.channels_last ? ActivationOrder::kChannelsLast : ActivationOrder::kChannelsFirst,
      rates.clock_share));
  if (!tensor_cores || !peak) return std::nullopt;
  if (general) return start + general->flops / (*peak / kNsPerS * general->tensor_core_share);
  return std::min(*tensor_cores, vector);
}

std::optional<double> ModelledNs(const KernelWork& work, const DeviceRates& rates,
                                 const KernelConstants& constants) {
  const double start = constants.start_us * kNsPerUs;
  const double size = BytesPerElement(work.dtype);
  if (const auto* rows = std::get_if<RowwiseWork>(&work.shape))
    return RowwiseNs(*rows, size, rates, constants) + start;
  if (const auto* pointwise = std::get_if<PointwiseWork>(&work.shape))
    return PointwiseNs(*pointwise, rates) + start * pointwise->kernels;
  if (const auto* instructions = std::get_if<InstructionWork>(&work.shape))
    return InstructionNs(*instructions, work.dtype, rates);
  if (const auto* attention = std::get_if<AttentionWork>(&work.shape))
    return AttentionNs(*attention, work.dtype, rates);
  if (const auto* grouped = std::get_if<GroupedWork>(&work.shape))
    return GroupedNs(*grouped, work.dtype, rates, constants);
  if (const auto* general = std::get_if<ConvolutionShape>(&work.shape))
    return GeneralConvolutionNs(*general, work.dtype, rates, constants);
  if (const auto* recurrent = std::get_if<RecurrentWork>(&work.shape))
    return RecurrentNs(*recurrent, work.dtype, rates, constants);
  const auto* product = std::get_if<ProductWork>(&work.shape);
  const auto* convolution = std::get_if<ConvolutionWork>(&work.shape);
  if (work.dtype == DType::kF8) {
    // No library has such products on vector units.
    if (product == nullptr) return std::nullopt;
    const std::optional<double> ns = TensorCoreNs(*product, work.dtype, rates, constants);
    if (!ns || !product->quantizes) return ns;
    constexpr double kReadAndWritten = 3;  // Bytes per element, from 16 to 8 bits.
    return *ns + start + PointwiseNs({.bytes = kReadAndWritten * product->m * product->k}, rates);
  }
  if (!IsTensorCoreType(work.dtype) && work.dtype != DType::kF32) return std::nullopt;
  const double vector = (product != nullptr ? ProductNs(*product, rates, constants)
                                            : ConvolutionNs(*convolution, rates, constants)) +
                        start;
  if (work.dtype == DType::kF32) return vector;
  const std::optional<double> tensor_cores =
      product != nullptr ? TensorCoreNs(*product, work.dtype, rates, constants)
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
