// Convolutions. FLOPs: ConvolutionShape::FlopsPerPart for each of forward, data gradient and weight
// gradient that the operator computes. A bias gradient adds one addition per output element. Bytes:
// every tensor of the operator once.
#include <algorithm>
#include <array>

#include "cost/operator_args.h"
#include "cost/operator_rules.h"

namespace headroom {
namespace {

/// Upper limit for extents, far above any real one. The product of two such extents fits 64 bits.
constexpr std::int64_t kLargestExtent = 1 << 30;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Argument positions of a forward convolution.
struct ConvolutionLayout {
  std::string_view name;
  /// kNone if the operator has no such argument.
  std::size_t stride, padding, dilation, groups;
  std::size_t output_padding = kNone;  ///< Set for a transposed convolution.
  std::size_t transposed = kNone;      ///< Flag of a transposed convolution.
  std::size_t benchmark = kNone;       ///< Flag of torch.backends.cudnn.benchmark.
};

// Argument positions from aten/src/ATen/native/native_functions.yaml (PyTorch 2.x).
constexpr std::array kConvolutionLayouts = {
    ConvolutionLayout{"aten::cudnn_convolution", 3, 2, 4, 5, kNone, kNone, 6},
    ConvolutionLayout{"aten::cudnn_convolution_transpose", 4, 2, 5, 6, 3, kNone, 7},
    ConvolutionLayout{"aten::cudnn_convolution_relu", 3, 4, 5, 6},
    ConvolutionLayout{"aten::cudnn_convolution_add_relu", 5, 6, 7, 8},
    ConvolutionLayout{"aten::miopen_convolution", 4, 3, 5, 6, kNone, kNone, 7},
    ConvolutionLayout{"aten::miopen_convolution_transpose", 5, 3, 6, 7, 4, kNone, 8},
    ConvolutionLayout{"aten::miopen_depthwise_convolution", 4, 3, 5, 6, kNone, kNone, 7},
    ConvolutionLayout{"aten::miopen_convolution_relu", 3, 4, 5, 6},
    ConvolutionLayout{"aten::mkldnn_convolution", 4, 3, 5, 6},
    ConvolutionLayout{"aten::convolution_overrideable", 3, 4, 5, 8, 7, 6},
    ConvolutionLayout{"aten::_slow_conv2d_forward", 4, 5, kNone, kNone},
    ConvolutionLayout{"aten::slow_conv3d_forward", 4, 5, kNone, kNone},
    ConvolutionLayout{"aten::_conv_depthwise2d", 4, 5, 6, kNone},
    ConvolutionLayout{"aten::conv_depthwise3d", 4, 5, 6, kNone},
};

constexpr std::string_view kBackward = "aten::convolution_backward";

const ConvolutionLayout* ConvolutionLayoutOf(std::string_view name) {
  for (const ConvolutionLayout& layout : kConvolutionLayouts) {
    if (layout.name == name) return &layout;
  }
  return nullptr;
}

/// Returns a list argument with one value per spatial dimension; a single value applies to all.
/// Returns nullopt if it was not recorded or its length differs.
std::optional<std::vector<std::int64_t>> Spread(const OperatorCall& call, std::size_t index,
                                                std::size_t count) {
  std::optional<std::vector<std::int64_t>> values = IntListAt(call, index);
  if (!values) return std::nullopt;
  if (values->size() == 1) values->assign(count, values->front());
  if (values->size() != count) return std::nullopt;
  return values;
}

/// Movement of the kernel over the input: one value per spatial dimension.
struct Window {
  std::vector<std::int64_t> stride, padding, dilation, output_padding;
};

/// Returns the window of a forward convolution; nullopt if a value was not recorded.
std::optional<Window> WindowOf(const OperatorCall& call, const ConvolutionLayout& layout,
                               const ConvolutionShape& s) {
  const std::size_t spatial = s.in.size();
  const auto stride = Spread(call, layout.stride, spatial);
  const auto padding = Spread(call, layout.padding, spatial);
  const auto dilation = layout.dilation == kNone ? std::vector<std::int64_t>(spatial, 1)
                                                 : Spread(call, layout.dilation, spatial);
  const auto output_padding = s.transposed ? Spread(call, layout.output_padding, spatial)
                                           : std::vector<std::int64_t>(spatial, 0);
  if (!stride || !padding || !dilation || !output_padding) return std::nullopt;
  return Window{*stride, *padding, *dilation, *output_padding};
}

bool IsDilated(const std::vector<std::int64_t>& dilation) {
  return std::any_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d > 1; });
}

/// Returns the spatial extents of the result of a convolution or a transposed convolution; nullopt
/// if one would be below 1.
std::optional<std::vector<std::int64_t>> OutputExtents(const ConvolutionShape& s,
                                                       const Window& window) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < s.in.size(); ++i) {
    const std::int64_t stride = window.stride[i], padding = window.padding[i];
    const std::int64_t dilation = window.dilation[i], added = window.output_padding[i];
    if (stride < 1 || dilation < 1 || padding < 0 || added < 0) return std::nullopt;
    if (std::max({stride, padding, dilation, added}) > kLargestExtent) return std::nullopt;
    const std::int64_t reach = dilation * (s.kernel[i] - 1) + 1;
    const std::int64_t extent = s.transposed ? (s.in[i] - 1) * stride - 2 * padding + reach + added
                                             : (s.in[i] + 2 * padding - reach) / stride + 1;
    if (extent < 1 || s.in[i] + 2 * padding < (s.transposed ? 0 : reach)) return std::nullopt;
    out.push_back(extent);
  }
  return out;
}

/// Reads batch, channels, kernel and groups from the tensors. Returns false if they contradict each
/// other.
bool FillFromTensors(const TensorArg& input, const TensorArg& weight, std::int64_t groups,
                     ConvolutionShape& s) {
  const std::size_t rank = input.dims.size();
  if (rank < 3 || rank > 5 || weight.dims.size() != rank || groups < 1) return false;
  if (std::max({groups, *std::max_element(input.dims.begin(), input.dims.end()),
                *std::max_element(weight.dims.begin(), weight.dims.end())}) > kLargestExtent) {
    return false;
  }
  s.batch = input.dims[0];
  s.in_channels = input.dims[1];
  s.groups = groups;
  s.in.assign(input.dims.begin() + 2, input.dims.end());
  s.kernel.assign(weight.dims.begin() + 2, weight.dims.end());
  if (s.in_channels % groups != 0) return false;
  if (s.transposed) {  // weight [in_channels, out_channels / groups, kernel...]
    if (weight.dims[0] != s.in_channels) return false;
    s.out_channels = weight.dims[1] * groups;
  } else {  // weight [out_channels, in_channels / groups, kernel...]
    if (weight.dims[1] * groups != s.in_channels || weight.dims[0] % groups != 0) return false;
    s.out_channels = weight.dims[0];
  }
  s.dtype = input.dtype;
  return true;
}

std::optional<ConvolutionShape> ForwardShape(const OperatorCall& call,
                                             const ConvolutionLayout& given) {
  ConvolutionLayout layout = given;
  // Before PyTorch 1.8, cudnn_convolution had a bias argument before the padding.
  if (call.name == "aten::cudnn_convolution" && call.args.size() > 2 &&
      call.args[2].kind != OperatorArg::Kind::kScalar) {
    ++layout.stride, ++layout.padding, ++layout.dilation, ++layout.groups;
  }
  const TensorArg* input = TensorAt(call, 0);
  const TensorArg* weight = TensorAt(call, 1);
  if (input == nullptr || weight == nullptr) return std::nullopt;

  ConvolutionShape s;
  s.transposed = layout.output_padding != kNone && layout.transposed == kNone;
  if (layout.transposed != kNone) {
    const std::optional<bool> flag = BoolAt(call, layout.transposed);
    if (!flag) return std::nullopt;
    s.transposed = *flag;
  }
  std::int64_t groups = 1;
  if (layout.groups != kNone) {
    const std::optional<std::int64_t> recorded = IntAt(call, layout.groups);
    if (!recorded) return std::nullopt;
    groups = *recorded;
  } else if (weight->dims.size() > 1 && weight->dims[1] == 1) {
    groups = input->dims[1];  // A depthwise convolution.
  }
  if (!FillFromTensors(*input, *weight, groups, s)) return std::nullopt;

  const std::optional<Window> window = WindowOf(call, layout, s);
  const auto out = window ? OutputExtents(s, *window) : std::nullopt;
  if (!out) return std::nullopt;
  s.out = *out;
  s.dilated = IsDilated(window->dilation);
  return s;
}

/// (grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding,
/// groups, output_mask)
std::optional<ConvolutionShape> BackwardShape(const OperatorCall& call) {
  const TensorArg* grad = TensorAt(call, 0);
  const TensorArg* input = TensorAt(call, 1);
  const TensorArg* weight = TensorAt(call, 2);
  const std::optional<bool> transposed = BoolAt(call, 7);
  const std::optional<std::int64_t> groups = IntAt(call, 9);
  const std::optional<std::vector<bool>> mask = BoolListAt(call, 10);
  if (grad == nullptr || input == nullptr || weight == nullptr || !transposed || !groups || !mask ||
      mask->size() != 3) {
    return std::nullopt;
  }
  ConvolutionShape s;
  s.transposed = *transposed;
  s.data_gradient = (*mask)[0];
  s.weight_gradient = (*mask)[1];
  s.bias_gradient = (*mask)[2];
  if (!FillFromTensors(*input, *weight, *groups, s)) return std::nullopt;
  if (grad->dims.size() != input->dims.size() || grad->dims[0] != s.batch ||
      grad->dims[1] != s.out_channels) {
    return std::nullopt;
  }
  s.out.assign(grad->dims.begin() + 2, grad->dims.end());
  const auto dilation = Spread(call, 6, s.in.size());
  s.dilated = dilation && IsDilated(*dilation);
  return s;
}

std::optional<OperatorCost> ForwardCost(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<ConvolutionShape> s = ConvolutionShapeOf(call);
  if (!s) return std::nullopt;
  Traffic traffic;
  for (const TensorArg* tensor : SingleTensors(call))
    traffic.Read(tensor);  // Input, weight, bias, and z of an add-relu.
  const double out_elements =
      static_cast<double>(s->batch) * static_cast<double>(s->out_channels) * Elements(s->out);
  traffic.Write(out_elements, s->dtype);
  return FinishCost(traffic, s->FlopsPerPart(), s->dtype, rule.family);
}

std::optional<OperatorCost> BackwardCost(const OperatorCall& call, const OperatorRule& rule) {
  const std::optional<ConvolutionShape> s = ConvolutionShapeOf(call);
  if (!s) return std::nullopt;
  const TensorArg& grad = *TensorAt(call, 0);
  const TensorArg& input = *TensorAt(call, 1);
  const TensorArg& weight = *TensorAt(call, 2);
  Traffic traffic;
  traffic.Read(grad);
  double flops = 0;
  if (s->data_gradient) {
    flops += s->FlopsPerPart();
    traffic.Read(weight);
    traffic.Write(Elements(input.dims), input.dtype);
  }
  if (s->weight_gradient) {
    flops += s->FlopsPerPart();
    traffic.Read(input);
    traffic.Write(Elements(weight.dims), weight.dtype);
  }
  if (s->bias_gradient) {
    flops += Elements(grad.dims);
    traffic.Write(static_cast<double>(s->out_channels), grad.dtype);
  }
  return FinishCost(traffic, flops, s->dtype, rule.family);
}

constexpr auto kConvolutionRules = [] {
  std::array<OperatorRule, kConvolutionLayouts.size() + 1> rules{};
  for (std::size_t i = 0; i < kConvolutionLayouts.size(); ++i) {
    rules[i] = {.name = kConvolutionLayouts[i].name,
                .family = WorkFamily::kConvolution,
                .formula = ForwardCost};
  }
  rules.back() = {.name = kBackward, .family = WorkFamily::kConvolution, .formula = BackwardCost};
  return rules;
}();

}  // namespace

double ConvolutionShape::FlopsPerPart() const {
  // The division is exact, because `groups` divides the channels.
  const std::int64_t channels_a_group = in_channels / std::max<std::int64_t>(groups, 1);
  return 2 * static_cast<double>(batch) * static_cast<double>(out_channels) *
         Elements(transposed ? in : out) * static_cast<double>(channels_a_group) * Elements(kernel);
}

bool IsFewChannelsConvolution(const OperatorCall& call) {
  constexpr std::int64_t kFew = 8;  // With fewer channels, most of the smallest tile is empty.
  const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call);
  return shape && shape->groups > 1 &&
         std::min(shape->in_channels, shape->out_channels) / shape->groups < kFew;
}

bool IsUntriedConvolution(const OperatorCall& call) {
  const ConvolutionLayout* layout = ConvolutionLayoutOf(call.name);
  return layout != nullptr && layout->benchmark < call.args.size() &&
         call.args[layout->benchmark].concrete == "False";
}

std::optional<ConvolutionShape> ConvolutionShapeOf(const OperatorCall& call) {
  if (call.name == kBackward) return BackwardShape(call);
  const ConvolutionLayout* layout = ConvolutionLayoutOf(call.name);
  return layout == nullptr ? std::nullopt : ForwardShape(call, *layout);
}

std::span<const OperatorRule> ConvolutionRules() { return kConvolutionRules; }

}  // namespace headroom
