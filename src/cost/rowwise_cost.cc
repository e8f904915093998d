// Reductions, softmax, normalization, pooling and losses: work that combines elements along some
// dims.
//
// FLOPs = flops_per_element * elements of the main input. The constants count the operations of the
// textbook definition (first principles). All of this work is memory-bound, so a factor of two in
// the constants changes nothing.
//
// Bytes are compulsory. A training batch norm uses its input twice, and reads it from memory once
// only if the input fits into a cache. The input counts once here.
#include <algorithm>
#include <array>
#include <utility>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

/// Returns the number of elements that remain after reducing `dims` (negative: from the end). An
/// empty list reduces all dims. Returns nullopt if a dim is out of range.
std::optional<double> ReducedElements(const TensorArg& input,
                                      const std::vector<std::int64_t>& dims) {
  if (dims.empty()) return 1;
  const std::int64_t rank = static_cast<std::int64_t>(input.dims.size());
  std::vector<std::int64_t> kept = input.dims;
  for (std::int64_t dim : dims) {
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank) return std::nullopt;
    kept[static_cast<std::size_t>(dim)] = 1;
  }
  return Elements(kept);
}

/// Returns the dims of a reduction: a list or one number in argument `index`. "" (None) and an
/// absent argument mean all dims. Returns nullopt if values were not recorded.
std::optional<std::vector<std::int64_t>> ReducedDims(const OperatorCall& call, std::size_t index) {
  if (index >= call.args.size()) return std::vector<std::int64_t>();
  if (std::optional<std::vector<std::int64_t>> list = IntListAt(call, index)) return list;
  if (const std::optional<std::int64_t> dim = IntAt(call, index))
    return std::vector<std::int64_t>{*dim};
  const OperatorArg& arg = call.args[index];
  if (arg.kind == OperatorArg::Kind::kNone && arg.concrete.empty())
    return std::vector<std::int64_t>();
  return std::nullopt;
}

/// Returns the cost of a reduction that writes one result of type `out` per kept element. kUnknown
/// means the input's type.
std::optional<OperatorCost> Reduce(const OperatorCall& call, const OperatorRule& rule,
                                   std::size_t dims_at, DType out) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  const std::optional<std::vector<std::int64_t>> dims = ReducedDims(call, dims_at);
  if (!dims) return std::nullopt;
  const std::optional<double> left = ReducedElements(*input, *dims);
  if (!left) return std::nullopt;
  Traffic traffic;
  traffic.Read(*input);
  traffic.Write(*left, out == DType::kUnknown ? input->dtype : out);
  return FinishElementCost(traffic, rule.flops_per_element * Elements(input->dims), input->dtype,
                           rule.family);
}

/// (self, dims, keepdim, dtype), or (self, dtype) over all elements. Sums of integers are 64 bits
/// wide.
std::optional<OperatorCost> Sum(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  const bool over_all = call.args.size() <= 2;
  DType out = DTypeAt(call, over_all ? 1 : 3);
  if (out == DType::kUnknown && !IsFloating(input->dtype)) out = DType::kI64;
  return Reduce(call, rule, over_all ? call.args.size() : 1, out);
}

/// (self, dims, keepdim): any, all, amax, amin.
std::optional<OperatorCost> ReduceDims(const OperatorCall& call, const OperatorRule& rule) {
  return Reduce(call, rule, 1, DType::kUnknown);
}

std::optional<OperatorCost> ReduceToBool(const OperatorCall& call, const OperatorRule& rule) {
  return Reduce(call, rule, 1, DType::kBool);
}

std::optional<OperatorCost> ReduceToIndex(const OperatorCall& call, const OperatorRule& rule) {
  return Reduce(call, rule, 1, DType::kI64);
}

/// (self, ord, dims, ...)
std::optional<OperatorCost> VectorNorm(const OperatorCall& call, const OperatorRule& rule) {
  return Reduce(call, rule, 2, DType::kUnknown);
}

/// max and min: (self), (self, dim, keepdim) with an index for each value, or (self, other) element
/// by element.
std::optional<OperatorCost> Extremum(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  if (call.args.size() < 2) return Reduce(call, rule, 1, DType::kUnknown);
  if (const TensorArg* other = TensorAt(call, 1)) {
    const std::optional<std::vector<std::int64_t>> shape = BroadcastShape({input, other});
    if (!shape) return std::nullopt;
    Traffic traffic;
    traffic.Read(*input);
    traffic.Read(*other);
    traffic.Write(Elements(*shape), input->dtype);
    return FinishElementCost(traffic, Elements(*shape), input->dtype, rule.family);
  }
  const std::optional<std::int64_t> dim = IntAt(call, 1);
  const std::optional<double> left = dim ? ReducedElements(*input, {*dim}) : std::nullopt;
  if (!left) return std::nullopt;
  Traffic traffic;
  traffic.Read(*input);
  traffic.Write(*left, input->dtype);
  traffic.Write(*left, DType::kI64);
  return FinishElementCost(traffic, Elements(input->dims), input->dtype, rule.family);
}

/// Prefix sums: write a result like the input. Sums of integers are 64 bits wide.
std::optional<OperatorCost> Scan(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  Traffic traffic;
  traffic.Read(*input);
  traffic.Write(Elements(input->dims), IsFloating(input->dtype) ? input->dtype : DType::kI64);
  return FinishElementCost(traffic, rule.flops_per_element * Elements(input->dims), input->dtype,
                           rule.family);
}

/// (self, dim, half_to_float)
std::optional<OperatorCost> Softmax(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  Traffic traffic;
  traffic.Read(*input);
  const double n = Elements(input->dims);
  traffic.Write(n, BoolAt(call, 2).value_or(false) ? DType::kF32 : input->dtype);
  return FinishElementCost(traffic, rule.flops_per_element * n, input->dtype, rule.family);
}

/// (grad_output, output, dim, input_dtype)
std::optional<OperatorCost> SoftmaxBackward(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* grad = TensorAt(call, 0);
  const TensorArg* output = TensorAt(call, 1);
  if (grad == nullptr || output == nullptr || grad->dims != output->dims) return std::nullopt;
  const DType given = DTypeAt(call, 3);
  Traffic traffic;
  traffic.Read(*grad);
  traffic.Read(*output);
  const double n = Elements(grad->dims);
  traffic.Write(n, given == DType::kUnknown ? output->dtype : given);
  return FinishElementCost(traffic, rule.flops_per_element * n, grad->dtype, rule.family);
}

/// Reads every tensor. Writes a tensor like argument 0 and `extra` float32 values (statistics,
/// parameter gradients).
std::optional<OperatorCost> LikeFirst(const OperatorCall& call, const OperatorRule& rule,
                                      double extra) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  Traffic traffic;
  for (const TensorArg* tensor : SingleTensors(call)) traffic.Read(tensor);
  traffic.Write(Elements(input->dims), input->dtype);
  traffic.Write(extra, DType::kF32);
  return FinishElementCost(traffic, rule.flops_per_element * Elements(input->dims), input->dtype,
                           rule.family);
}

/// Returns the number of rows of a layer or RMS norm: elements of `input` without the trailing
/// normalized shape. Returns nullopt if that shape does not match.
std::optional<double> NormRows(const TensorArg& input, const OperatorCall& call,
                               std::size_t shape_at) {
  const std::optional<std::vector<std::int64_t>> shape = IntListAt(call, shape_at);
  if (!shape || shape->size() > input.dims.size() ||
      !std::equal(shape->rbegin(), shape->rend(), input.dims.rbegin())) {
    return std::nullopt;
  }
  return Elements({input.dims.data(), input.dims.size() - shape->size()});
}

/// native_layer_norm and _fused_rms_norm: (input, normalized_shape, weight, bias?, eps). Counts two
/// statistics per row. RMS norm has only one, but the difference is negligible.
std::optional<OperatorCost> LayerNorm(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  const std::optional<double> rows = input == nullptr ? std::nullopt : NormRows(*input, call, 1);
  if (!rows) return std::nullopt;
  return LikeFirst(call, rule, 2 * *rows);
}

/// (grad_output, input, normalized_shape, ...): writes the gradients of the input, the weight and
/// the bias.
std::optional<OperatorCost> LayerNormBackward(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 1);
  const std::optional<double> rows = input == nullptr ? std::nullopt : NormRows(*input, call, 2);
  if (!rows) return std::nullopt;
  const double columns = *rows > 0 ? Elements(input->dims) / *rows : 0;
  return LikeFirst(call, rule, 2 * columns);
}

/// (input, weight, bias, running_mean, running_var, training, ...). Training writes the saved and
/// the running statistics.
std::optional<OperatorCost> BatchNorm(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr || input->dims.size() < 2) return std::nullopt;
  const bool training = BoolAt(call, 5).value_or(true);
  return LikeFirst(call, rule, training ? 4 * static_cast<double>(input->dims[1]) : 0);
}

/// (input or grad_output, grad_output or input, ...): writes the gradients of the input, the weight
/// and the bias.
std::optional<OperatorCost> BatchNormBackward(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* first = TensorAt(call, 0);
  const TensorArg* second = TensorAt(call, 1);
  if (first == nullptr || second == nullptr || first->dims != second->dims ||
      first->dims.size() < 2) {
    return std::nullopt;
  }
  return LikeFirst(call, rule, 2 * static_cast<double>(first->dims[1]));
}

/// (input, weight, bias, N, C, HxW, group, eps): writes a mean and an inverse standard deviation
/// for each image and group.
std::optional<OperatorCost> GroupNorm(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<std::int64_t> images = IntAt(call, 3);
  const std::optional<std::int64_t> groups = IntAt(call, 6);
  if (!images || !groups || *images < 0 || *groups < 0) return std::nullopt;
  return LikeFirst(call, rule, 2 * static_cast<double>(*images) * static_cast<double>(*groups));
}

/// (grad_output, input, mean, rstd, weight, N, C, HxW, group, output_mask)
std::optional<OperatorCost> GroupNormBackward(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<std::int64_t> channels = IntAt(call, 6);
  if (!channels || *channels < 0) return std::nullopt;
  return LikeFirst(call, rule, 2 * static_cast<double>(*channels));
}

/// Result of sliding a pooling window over an input.
struct Pooled {
  double elements;  ///< Elements of the result.
  double window;    ///< Elements under one window.
};

/// Slides a window: each extent becomes 1 + (extent + 2 padding - reach) / stride, where reach is
/// dilation (kernel - 1) + 1. Ceil mode rounds up if the last window starts inside the input or its
/// left padding. A list of one value applies to all dimensions. Returns nullopt if an argument is
/// missing or out of range.
std::optional<Pooled> SlideWindow(const OperatorCall& call, const OperatorRule& rule,
                                  const TensorArg& input, std::optional<std::size_t> dilation_at,
                                  std::size_t ceil_at) {
  const auto kernel = IntListAt(call, 1);
  auto stride = IntListAt(call, 2);
  const auto padding = IntListAt(call, 3);
  const auto dilation = dilation_at ? IntListAt(call, *dilation_at) : std::vector<std::int64_t>{1};
  const auto ceil_mode = BoolAt(call, ceil_at);
  if (stride && stride->empty()) stride = kernel;
  if (!kernel || !stride || !padding || !dilation || !ceil_mode) return std::nullopt;
  const auto at = [](const std::vector<std::int64_t>& list, std::size_t i) {
    return list.size() == 1 ? list.front() : i < list.size() ? list[i] : -1;
  };
  const std::size_t spatial = rule.name.find("3d") != std::string_view::npos ? 3 : 2;
  if (spatial > input.dims.size()) return std::nullopt;
  std::vector<std::int64_t> out = input.dims;
  double window = 1;
  for (std::size_t i = 0; i < spatial; ++i) {
    constexpr std::int64_t kLimit = 1 << 30;  // Keeps the products below within 64 bits.
    std::int64_t& extent = out[out.size() - spatial + i];
    const std::int64_t k = at(*kernel, i), s = at(*stride, i);
    const std::int64_t p = at(*padding, i), d = at(*dilation, i);
    if (k < 1 || s < 1 || p < 0 || d < 1) return std::nullopt;
    if (std::max({k, s, p, d, extent}) > kLimit) return std::nullopt;
    const std::int64_t room = extent + 2 * p - d * (k - 1) - 1;
    if (room < 0) return std::nullopt;
    std::int64_t count = room / s + 1;
    if (*ceil_mode && room % s != 0 && count * s < extent + p) ++count;
    extent = count;
    window *= static_cast<double>(k);
  }
  return Pooled{Elements(out), window};
}

/// (self, kernel, stride, padding, dilation, ceil_mode): writes a value and an int64 index per
/// window. One comparison per window element.
std::optional<OperatorCost> MaxPool(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  const std::optional<Pooled> out = SlideWindow(call, rule, *input, std::size_t{4}, 5);
  if (!out) return std::nullopt;
  Traffic traffic;
  traffic.Read(*input);
  traffic.Write(out->elements, input->dtype);
  traffic.Write(out->elements, DType::kI64);
  return FinishElementCost(traffic, out->elements * out->window, input->dtype, rule.family);
}

/// (self, kernel, stride, padding, ceil_mode, ...)
std::optional<OperatorCost> AvgPool(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  if (input == nullptr) return std::nullopt;
  const std::optional<Pooled> out = SlideWindow(call, rule, *input, std::nullopt, 4);
  if (!out) return std::nullopt;
  Traffic traffic;
  traffic.Read(*input);
  traffic.Write(out->elements, input->dtype);
  return FinishElementCost(traffic, out->elements * out->window, input->dtype, rule.family);
}

/// (self, output_size): keeps images and channels. Uses every input element at least once; counts
/// it once.
std::optional<OperatorCost> Resample(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* input = TensorAt(call, 0);
  const std::optional<std::vector<std::int64_t>> size = IntListAt(call, 1);
  if (input == nullptr || !size || size->empty() || size->size() > input->dims.size())
    return std::nullopt;
  double out = Elements({input->dims.data(), input->dims.size() - size->size()});
  for (const std::int64_t extent : *size) {
    if (extent < 0) return std::nullopt;
    out *= static_cast<double>(extent);
  }
  Traffic traffic;
  traffic.Read(*input);
  traffic.Write(out, input->dtype);
  return FinishElementCost(traffic, rule.flops_per_element * std::max(out, Elements(input->dims)),
                           input->dtype, rule.family);
}

/// (grad_output, self, ..., indices?): reads the gradient and the indices, writes a gradient like
/// self.
std::optional<OperatorCost> PoolBackward(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* grad = TensorAt(call, 0);
  const TensorArg* self = TensorAt(call, 1);
  if (grad == nullptr || self == nullptr) return std::nullopt;
  Traffic traffic;
  for (const TensorArg* tensor : SingleTensors(call)) {
    if (tensor != self) traffic.Read(tensor);
  }
  traffic.Write(Elements(self->dims), self->dtype);
  return FinishElementCost(traffic, rule.flops_per_element * Elements(grad->dims), grad->dtype,
                           rule.family);
}

/// (self, target, weight, reduction, ignore_index): picks one value per target. Writes the loss and
/// the total weight.
std::optional<OperatorCost> NllLoss(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 0);
  const TensorArg* target = TensorAt(call, 1);
  if (self == nullptr || target == nullptr) return std::nullopt;
  const double picked = Elements(target->dims);
  const bool reduced = IntAt(call, 3).value_or(1) != 0;
  Traffic traffic;
  traffic.Read(picked, self->dtype);
  traffic.Read(*target);
  traffic.Read(TensorAt(call, 2));
  traffic.Write((reduced ? 1 : picked) + 1, self->dtype);
  return FinishElementCost(traffic, rule.flops_per_element * picked, self->dtype, rule.family);
}

/// (grad_output, self, target, ...): writes one value per target into a gradient that aten::zero_,
/// called by this operator, has cleared. Does not read self.
std::optional<OperatorCost> NllLossBackward(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 1);
  const TensorArg* target = TensorAt(call, 2);
  if (self == nullptr || target == nullptr) return std::nullopt;
  Traffic traffic;
  for (const TensorArg* tensor : SingleTensors(call)) {
    if (tensor != self) traffic.Read(tensor);
  }
  traffic.Write(Elements(target->dims), self->dtype);
  return FinishElementCost(traffic, rule.flops_per_element * Elements(target->dims), self->dtype,
                           rule.family);
}

/// (self, target, reduction): mean-squared error and similar losses.
std::optional<OperatorCost> PairLoss(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 0);
  const TensorArg* target = TensorAt(call, 1);
  const std::optional<std::int64_t> reduction = IntAt(call, 2);
  if (self == nullptr || target == nullptr || !reduction) return std::nullopt;
  const double n = Elements(self->dims);
  Traffic traffic;
  traffic.Read(*self);
  traffic.Read(*target);
  traffic.Write(*reduction == 0 ? n : 1, self->dtype);
  return FinishElementCost(traffic, rule.flops_per_element * n, self->dtype, rule.family);
}

/// (grad_output, self, target, reduction)
std::optional<OperatorCost> PairLossBackward(const OperatorCall& call, const OperatorRule& rule) {
  const TensorArg* self = TensorAt(call, 1);
  if (self == nullptr || TensorAt(call, 2) == nullptr) return std::nullopt;
  Traffic traffic;
  for (const TensorArg* tensor : SingleTensors(call)) traffic.Read(tensor);
  traffic.Write(Elements(self->dims), self->dtype);
  return FinishElementCost(traffic, rule.flops_per_element * Elements(self->dims), self->dtype,
                           rule.family);
}

constexpr std::array kRowwiseRules = {
    OperatorRule{"aten::sum", WorkFamily::kReduction, Sum, 1},
    OperatorRule{"aten::mean", WorkFamily::kReduction, Sum, 1},
    OperatorRule{"aten::prod", WorkFamily::kReduction, Sum, 1},
    OperatorRule{"aten::amax", WorkFamily::kReduction, ReduceDims, 1},
    OperatorRule{"aten::amin", WorkFamily::kReduction, ReduceDims, 1},
    OperatorRule{"aten::logsumexp", WorkFamily::kReduction, ReduceDims, 3},
    OperatorRule{"aten::any", WorkFamily::kReduction, ReduceToBool},
    OperatorRule{"aten::all", WorkFamily::kReduction, ReduceToBool},
    OperatorRule{"aten::argmax", WorkFamily::kReduction, ReduceToIndex, 1},
    OperatorRule{"aten::argmin", WorkFamily::kReduction, ReduceToIndex, 1},
    OperatorRule{"aten::linalg_vector_norm", WorkFamily::kReduction, VectorNorm, 2},
    OperatorRule{"aten::max", WorkFamily::kReduction, Extremum, 1},
    OperatorRule{"aten::min", WorkFamily::kReduction, Extremum, 1},
    OperatorRule{"aten::cumsum", WorkFamily::kReduction, Scan, 1},
    OperatorRule{"aten::cumprod", WorkFamily::kReduction, Scan, 1},
    OperatorRule{"aten::_softmax", WorkFamily::kSoftmax, Softmax,
                 5},  // max, subtract, exp, sum, divide
    OperatorRule{"aten::_log_softmax", WorkFamily::kSoftmax, Softmax,
                 5},  // max, subtract, exp, sum, subtract
    OperatorRule{"aten::_softmax_backward_data", WorkFamily::kSoftmax, SoftmaxBackward,
                 4},  // y (g - sum g y)
    OperatorRule{"aten::_log_softmax_backward_data", WorkFamily::kSoftmax, SoftmaxBackward,
                 4},  // g - exp(y) sum g
    // mean 1, variance 3, normalize 2, scale and shift 2
    OperatorRule{"aten::native_layer_norm", WorkFamily::kNormalization, LayerNorm, 8},
    OperatorRule{"aten::native_batch_norm", WorkFamily::kNormalization, BatchNorm, 8},
    OperatorRule{"aten::cudnn_batch_norm", WorkFamily::kNormalization, BatchNorm, 8},
    OperatorRule{"aten::miopen_batch_norm", WorkFamily::kNormalization, BatchNorm, 8},
    OperatorRule{"aten::native_group_norm", WorkFamily::kNormalization, GroupNorm, 8},
    OperatorRule{"aten::_fused_rms_norm", WorkFamily::kNormalization, LayerNorm,
                 4},  // squares 2, normalize and scale 2
    // normalized input 2, weight and bias gradient 3, two row sums 4, input gradient 4
    OperatorRule{"aten::native_layer_norm_backward", WorkFamily::kNormalization, LayerNormBackward,
                 13},
    OperatorRule{"aten::native_batch_norm_backward", WorkFamily::kNormalization, BatchNormBackward,
                 13},
    OperatorRule{"aten::cudnn_batch_norm_backward", WorkFamily::kNormalization, BatchNormBackward,
                 13},
    OperatorRule{"aten::miopen_batch_norm_backward", WorkFamily::kNormalization, BatchNormBackward,
                 13},
    OperatorRule{"aten::native_group_norm_backward", WorkFamily::kNormalization, GroupNormBackward,
                 13},
    OperatorRule{"aten::_fused_rms_norm_backward", WorkFamily::kNormalization, LayerNormBackward,
                 10},
    OperatorRule{"aten::max_pool2d_with_indices", WorkFamily::kPooling, MaxPool},
    OperatorRule{"aten::max_pool3d_with_indices", WorkFamily::kPooling, MaxPool},
    OperatorRule{"aten::max_pool2d_with_indices_backward", WorkFamily::kPooling, PoolBackward, 1},
    OperatorRule{"aten::max_pool3d_with_indices_backward", WorkFamily::kPooling, PoolBackward, 1},
    OperatorRule{"aten::avg_pool2d", WorkFamily::kPooling, AvgPool},
    OperatorRule{"aten::avg_pool3d", WorkFamily::kPooling, AvgPool},
    OperatorRule{"aten::avg_pool2d_backward", WorkFamily::kPooling, PoolBackward, 1},
    OperatorRule{"aten::avg_pool3d_backward", WorkFamily::kPooling, PoolBackward, 1},
    OperatorRule{"aten::_adaptive_avg_pool2d", WorkFamily::kPooling, Resample, 1},
    OperatorRule{"aten::_adaptive_avg_pool3d", WorkFamily::kPooling, Resample, 1},
    OperatorRule{"aten::_adaptive_avg_pool2d_backward", WorkFamily::kPooling, PoolBackward, 1},
    OperatorRule{"aten::_adaptive_avg_pool3d_backward", WorkFamily::kPooling, PoolBackward, 1},
    OperatorRule{"aten::upsample_nearest2d", WorkFamily::kPooling, Resample, 0},
    OperatorRule{"aten::upsample_bilinear2d", WorkFamily::kPooling, Resample, 7},
    OperatorRule{"aten::nll_loss_forward", WorkFamily::kLoss, NllLoss, 1},
    OperatorRule{"aten::nll_loss2d_forward", WorkFamily::kLoss, NllLoss, 1},
    OperatorRule{"aten::nll_loss_backward", WorkFamily::kLoss, NllLossBackward, 1},
    OperatorRule{"aten::nll_loss2d_backward", WorkFamily::kLoss, NllLossBackward, 1},
    OperatorRule{"aten::mse_loss", WorkFamily::kLoss, PairLoss, 3},
    OperatorRule{"aten::mse_loss_backward", WorkFamily::kLoss, PairLossBackward, 3},
    OperatorRule{"aten::smooth_l1_loss", WorkFamily::kLoss, PairLoss, 4},
    OperatorRule{"aten::smooth_l1_loss_backward", WorkFamily::kLoss, PairLossBackward, 4},
};

}  // namespace

std::span<const OperatorRule> RowwiseRules() { return kRowwiseRules; }

}  // namespace headroom
