#include "whatif/memory/operator_results.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include "cost/operator_args.h"
#include "cost/operator_cost.h"

namespace headroom {
namespace {

using Tensors = std::vector<TensorArg>;
using Dims = std::vector<std::int64_t>;

constexpr std::string_view kAten = "aten::";

/// Operators that fill memory with random numbers. The memory is new: noise and masks.
constexpr std::array<std::string_view, 5> kRandom = {"normal_", "uniform_", "bernoulli_", "random_",
                                                     "exponential_"};

template <std::size_t kCount>
bool IsOneOf(std::string_view name, const std::array<std::string_view, kCount>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TensorArg Make(Dims dims, DType dtype) {
  return {.dims = std::move(dims), .strides = {}, .dtype = dtype};
}

TensorArg Contiguous(Dims dims, DType dtype) {
  Dims strides = ContiguousStrides(dims);
  return {.dims = std::move(dims), .strides = std::move(strides), .dtype = dtype};
}

/// One operator, with the rules as methods.
class ResultFinder {
 public:
  ResultFinder(const StepOperators& step, std::size_t op)
      : step_(step), op_(step.list[op]), call_(*op_.call), name_(op_.name) {
    if (name_.starts_with(kAten)) name_.remove_prefix(kAten.size());
    for (const TensorUse& use : op_.tensors) args_.push_back(&use.tensor);
  }

  std::optional<Tensors> Find() const {
    if (name_ == "copy_") return OfCopy();
    if (name_ == "fill_" || name_ == "zero_") return OfFill();
    if (IsOneOf(name_, kRandom)) return args_.empty() ? Tensors() : Tensors{Arg(0)};
    if (WritesInPlace()) return std::nullopt;
    if (args_.empty()) return Tensors();
    if (name_.find("convolution") != std::string_view::npos ||
        name_.find("conv_depthwise") != std::string_view::npos)
      return OfConvolution();
    if (std::optional<Tensors> results = OfProduct()) return results;
    if (std::optional<Tensors> results = OfRecurrentLayers()) return results;
    if (std::optional<Tensors> results = OfNorm()) return results;
    if (std::optional<Tensors> results = OfAttention()) return results;
    if (std::optional<Tensors> results = OfLookup()) return results;
    if (std::optional<Tensors> results = OfPooling()) return results;
    if (std::optional<Tensors> results = OfReduction()) return results;
    if (name_.starts_with("_foreach")) return OfList();
    return OfElements();
  }

 private:
  const TensorArg& Arg(std::size_t index) const {
    return *args_[std::min(index, args_.size() - 1)];
  }
  static TensorArg Like(const TensorArg& tensor) { return Make(tensor.dims, tensor.dtype); }
  TensorArg Like(std::size_t index) const { return Like(Arg(index)); }

  std::string_view NameAround(std::size_t levels = 1) const {
    const StepOperator* op = &op_;
    for (; levels > 0; --levels) {
      if (op->parent == kNowhere) return {};
      op = &step_.list[op->parent];
    }
    return op->name;
  }

  /// Returns the result of a copy if the operator around it allocated the memory; nullopt for any
  /// other copy.
  std::optional<Tensors> OfCopy() const {
    constexpr std::array<std::string_view, 3> kCopying = {"aten::clone", "aten::_to_copy",
                                                          "aten::contiguous"};
    if (!IsOneOf(NameAround(), kCopying)) return std::nullopt;
    return args_.empty() ? Tensors() : Tensors{Arg(0)};
  }

  std::optional<Tensors> OfFill() const {
    constexpr std::array<std::string_view, 7> kFilling = {
        "aten::zeros",     "aten::zeros_like", "aten::ones",     "aten::ones_like",
        "aten::new_zeros", "aten::full",       "aten::full_like"};
    std::size_t level = 1;
    while (NameAround(level) == "aten::zero_" || NameAround(level) == "aten::fill_") ++level;
    const std::string_view around = NameAround(level);
    if (IsOneOf(around, kFilling)) return args_.empty() ? Tensors() : Tensors{Like(0)};
    // Clears memory that the surrounding backward returns.
    if (around.ends_with("_backward")) return Tensors();
    return std::nullopt;
  }

  bool WritesInPlace() const {
    return name_.ends_with('_') || name_.starts_with("_fused") || name_.starts_with("_amp");
  }

  Tensors OfConvolution() const {
    const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call_);
    if (!shape) return {};
    if (name_.ends_with("backward")) {  // Arguments: (gradient, input, weights).
      Tensors results;
      if (shape->data_gradient) results.push_back(Like(1));
      if (shape->weight_gradient) results.push_back(Like(2));
      if (shape->bias_gradient) results.push_back(Make({shape->out_channels}, Arg(2).dtype));
      return results;
    }
    Dims dims = {shape->batch, shape->out_channels};
    dims.insert(dims.end(), shape->out.begin(), shape->out.end());
    return {Make(std::move(dims), Arg(0).dtype)};
  }

  std::optional<Tensors> OfProduct() const {
    constexpr std::array<std::string_view, 3> kWithAddend = {"addmm", "baddbmm", "addbmm"};
    const std::size_t first = IsOneOf(name_, kWithAddend) ? 1 : 0;
    if (first == 0 && name_ != "mm" && name_ != "bmm") return std::nullopt;
    const TensorArg &a = Arg(first), &b = Arg(first + 1);
    if (a.dims.empty() || b.dims.empty()) return std::nullopt;
    Dims dims = a.dims;
    dims.back() = b.dims.back();
    return Tensors{Contiguous(std::move(dims), a.dtype)};
  }

  /// Returns cuDNN's output and its reserve: the states of gates and cells, which the backward
  /// reads. cuDNN chooses the reserve's size; the backward's arguments show it. Omits the final
  /// states, which are one time step of the output.
  std::optional<Tensors> OfRecurrentLayers() const {
    if (name_ == "_cudnn_rnn_backward") {  // Arguments: (input, weights, stride, buffer, ...).
      constexpr std::size_t kWeights = 3;
      Tensors results = {Like(0)};
      if (const TensorArg* weights = TensorAt(call_, kWeights)) results.push_back(Like(*weights));
      return results;
    }
    if (name_ != "_cudnn_rnn") return std::nullopt;
    constexpr std::size_t kHidden = 7, kProjection = 8, kBidirectional = 13;
    const std::optional<std::int64_t> hidden = IntAt(call_, kHidden);
    Dims dims = Arg(0).dims;
    if (!hidden || dims.empty()) return Tensors();
    const std::int64_t projection = IntAt(call_, kProjection).value_or(0);
    dims.back() = (BoolAt(call_, kBidirectional).value_or(false) ? 2 : 1) *
                  (projection > 0 ? projection : *hidden);
    Tensors results = {Make(std::move(dims), Arg(0).dtype)};
    if (const TensorArg* reserve = ReserveInBackward()) results.push_back(Like(*reserve));
    return results;
  }

  /// Returns the last argument in bytes of the recurrent layers' backward; nullptr if not recorded.
  const TensorArg* ReserveInBackward() const {
    for (const std::size_t node : step_.nodes) {
      if (step_.list[node].sequence != op_.sequence || op_.sequence == kUnknown) continue;
      for (std::size_t i = node; i <= step_.list[node].last; ++i) {
        const StepOperator& inside = step_.list[i];
        if (inside.name != "aten::_cudnn_rnn_backward") continue;
        const auto reserve =
            std::find_if(inside.tensors.rbegin(), inside.tensors.rend(),
                         [](const TensorUse& use) { return use.tensor.dtype == DType::kI8; });
        return reserve == inside.tensors.rend() ? nullptr : &reserve->tensor;
      }
    }
    return nullptr;
  }

  /// Returns the normalized tensor and, in float32, means and deviations. For a backward, returns
  /// the gradients of the input, weights and biases.
  std::optional<Tensors> OfNorm() const {
    if (name_ == "native_layer_norm") {
      Dims rows = Arg(0).dims;
      if (!rows.empty()) rows.pop_back();
      return Tensors{Like(0), Make(rows, DType::kF32), Make(rows, DType::kF32)};
    }
    if (name_ == "native_layer_norm_backward") {
      const TensorArg weight = Like(args_.size() - 1);
      return Tensors{Like(1), weight, weight};
    }
    if (name_.find("batch_norm") != std::string_view::npos && Arg(0).dims.size() > 1) {
      const TensorArg channels = Make({Arg(0).dims[1]}, DType::kF32);
      return Tensors{Like(0), channels, channels};
    }
    constexpr std::size_t kGroups = 6;
    const std::optional<std::int64_t> groups =
        name_ == "native_group_norm" ? IntAt(call_, kGroups) : std::nullopt;
    if (!groups || Arg(0).dims.empty()) return std::nullopt;
    const TensorArg each = Make({Arg(0).dims[0], *groups}, DType::kF32);
    return Tensors{Like(0), each, each};
  }

  /// Returns the output and, in float32, one log-sum-exp per query.
  std::optional<Tensors> OfAttention() const {
    if (name_.find("attention") == std::string_view::npos) return std::nullopt;
    if (name_.ends_with("_backward")) {  // Arguments: (gradient, Q, K, V, ...).
      if (args_.size() < 4) return std::nullopt;
      return Tensors{Like(1), Like(2), Like(3)};
    }
    Dims queries = Arg(0).dims;
    if (!queries.empty()) queries.pop_back();
    return Tensors{Like(0), Make(std::move(queries), DType::kF32)};
  }

  std::optional<Tensors> OfLookup() const {
    if (name_ == "embedding_dense_backward") {  // Arguments: (gradient, indices, vocabulary size).
      const std::optional<std::int64_t> words = IntAt(call_, 2);
      if (!words || Arg(0).dims.empty()) return std::nullopt;
      return Tensors{Make({*words, Arg(0).dims.back()}, Arg(0).dtype)};
    }
    if (name_ == "embedding" && args_.size() > 1 && !Arg(0).dims.empty()) {
      Dims dims = Arg(1).dims;
      dims.push_back(Arg(0).dims.back());
      return Tensors{Make(std::move(dims), Arg(0).dtype)};
    }
    if (name_ != "gather" && name_ != "index_select") return std::nullopt;
    const auto index = std::find_if(args_.begin() + 1, args_.end(), [](const TensorArg* arg) {
      return !IsFloating(arg->dtype) && !arg->dims.empty();
    });
    if (index == args_.end()) return std::nullopt;
    if (name_ == "gather") return Tensors{Make((*index)->dims, Arg(0).dtype)};
    Dims dims = Arg(0).dims;
    const std::size_t dim = Normalized(IntAt(call_, 1).value_or(0), dims.size());
    if (dim < dims.size()) dims[dim] = (*index)->dims[0];
    return Tensors{Make(std::move(dims), Arg(0).dtype)};
  }

  /// Converts a negative dimension, which counts from the end.
  static std::size_t Normalized(std::int64_t dim, std::size_t rank) {
    return static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim);
  }

  std::optional<Tensors> OfPooling() const {
    constexpr std::array<std::string_view, 4> kOfInput = {
        "max_pool2d_with_indices_backward", "_adaptive_avg_pool2d_backward", "avg_pool2d_backward",
        "nll_loss_backward"};
    if (IsOneOf(name_, kOfInput)) return Tensors{Like(1)};
    const bool with_indices = name_ == "max_pool2d_with_indices";
    if (!with_indices && name_ != "avg_pool2d") {
      if (name_.starts_with("_adaptive_avg_pool")) return OfAdaptivePooling();
      return std::nullopt;
    }
    // Arguments: (input, size, stride, padding, dilation: only for max_pool, ceil_mode).
    const std::optional<Dims> size = IntListAt(call_, 1), padding = IntListAt(call_, 3);
    std::optional<Dims> stride = IntListAt(call_, 2);
    if (stride && stride->empty()) stride = size;
    const std::optional<Dims> dilation = with_indices ? IntListAt(call_, 4) : Dims{1};
    const bool up = BoolAt(call_, with_indices ? 5 : 4).value_or(false);
    Dims dims = Arg(0).dims;
    if (!size || !stride || !padding || !dilation || size->empty() || stride->empty() ||
        padding->empty() || dilation->empty() || dims.size() < 2)
      return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      const auto at = [i](const Dims& values) { return values[std::min(i, values.size() - 1)]; };
      const std::int64_t step = std::max<std::int64_t>(1, at(*stride));
      std::int64_t& extent = dims[dims.size() - 2 + i];
      extent += 2 * at(*padding) - at(*dilation) * (at(*size) - 1) - 1 + (up ? step - 1 : 0);
      extent = extent / step + 1;
    }
    Tensors results = {Make(dims, Arg(0).dtype)};
    if (with_indices) results.push_back(Make(std::move(dims), DType::kI64));
    return results;
  }

  std::optional<Tensors> OfAdaptivePooling() const {
    const std::optional<Dims> size = IntListAt(call_, 1);
    Dims dims = Arg(0).dims;
    if (!size || size->size() > dims.size()) return std::nullopt;
    std::copy(size->begin(), size->end(), dims.end() - static_cast<std::ptrdiff_t>(size->size()));
    return Tensors{Make(std::move(dims), Arg(0).dtype)};
  }

  std::optional<Tensors> OfReduction() const {
    constexpr std::array<std::string_view, 4> kOverDims = {"sum", "mean", "amax", "amin"};
    constexpr std::array<std::string_view, 9> kToOne = {"nll_loss_forward",
                                                        "nll_loss2d_forward",
                                                        "arange",
                                                        "argmax",
                                                        "max",
                                                        "min",
                                                        "any",
                                                        "all",
                                                        "item"};
    if (IsOneOf(name_, kToOne)) return Tensors{Make({}, Arg(0).dtype)};
    if (!IsOneOf(name_, kOverDims)) return std::nullopt;
    const std::optional<Dims> over = IntListAt(call_, 1);
    if (!over || over->empty()) return Tensors{Make({}, Arg(0).dtype)};
    const Dims& dims = Arg(0).dims;
    std::vector<bool> gone(dims.size());
    for (const std::int64_t dim : *over) {
      const std::size_t at = Normalized(dim, dims.size());
      if (at < dims.size()) gone[at] = true;
    }
    const bool keeps = BoolAt(call_, 2).value_or(false);
    Dims left;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (!gone[i]) {
        left.push_back(dims[i]);
      } else if (keeps) {
        left.push_back(1);
      }
    }
    return Tensors{Make(std::move(left), Arg(0).dtype)};
  }

  /// Returns one tensor for each tensor of the first list.
  Tensors OfList() const {
    Tensors results;
    for (const TensorUse& use : op_.tensors) {
      if (use.argument == op_.tensors.front().argument) results.push_back(Like(use.tensor));
    }
    return results;
  }

  Tensors OfElements() const {
    constexpr std::array<std::string_view, 13> kToBool = {
        "eq",         "ne",          "lt",          "gt",         "le",    "ge",   "logical_and",
        "logical_or", "logical_not", "bitwise_and", "bitwise_or", "isnan", "isinf"};
    if (name_ == "cat") return OfConcatenation();
    if (IsOneOf(name_, kToBool)) return {Make(BroadcastOf(args_), DType::kBool)};
    if (name_ == "native_dropout") return {Like(0), Make(Arg(0).dims, DType::kBool)};
    // _softmax(input, dim, half_to_float).
    if (name_.ends_with("softmax") && BoolAt(call_, 2).value_or(false))
      return {Make(Arg(0).dims, DType::kF32)};
    std::vector<const TensorArg*> floats;
    std::copy_if(args_.begin(), args_.end(), std::back_inserter(floats),
                 [](const TensorArg* arg) { return IsFloating(arg->dtype); });
    if (floats.empty()) floats = args_;
    return {ElementwiseResult(floats)};
  }

  /// Returns the broadcast of the operands, in the widest type. Its memory has the order of the
  /// first operand with its shape.
  TensorArg ElementwiseResult(const std::vector<const TensorArg*>& operands) const {
    TensorArg result = Make(BroadcastOf(operands), WidestOf(operands));
    const auto whole =
        std::find_if(operands.begin(), operands.end(),
                     [&](const TensorArg* operand) { return operand->dims == result.dims; });
    if (whole != operands.end()) result.strides = CompactStrides(**whole);
    return result;
  }

  /// Returns strides without gaps or repetitions, in the tensor's order of dimensions; empty if the
  /// order is unknown.
  static Dims CompactStrides(const TensorArg& tensor) {
    const std::size_t rank = tensor.dims.size();
    if (tensor.strides.size() != rank) return {};
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return tensor.strides[a] > tensor.strides[b];
    });
    Dims strides(rank);
    std::int64_t step = 1;
    for (std::size_t i = rank; i-- > 0;) {
      if (tensor.strides[order[i]] == 0 && tensor.dims[order[i]] > 1) return {};
      strides[order[i]] = step;
      step *= std::max<std::int64_t>(1, tensor.dims[order[i]]);
    }
    return strides;
  }

  Tensors OfConcatenation() const {
    const Dims& first = Arg(0).dims;
    const std::size_t dim = Normalized(IntAt(call_, 1).value_or(0), first.size());
    if (dim >= first.size()) return {};
    Dims dims = first;
    dims[dim] = 0;
    for (const TensorArg* arg : args_) {
      if (arg->dims.size() == dims.size()) dims[dim] += arg->dims[dim];
    }
    return {Make(std::move(dims), Arg(0).dtype)};
  }

  /// Returns the largest shape if the shapes do not match, because the operator then does not
  /// broadcast.
  static Dims BroadcastOf(const std::vector<const TensorArg*>& tensors) {
    if (std::optional<Dims> dims = BroadcastShape(tensors)) return *std::move(dims);
    return (*std::max_element(tensors.begin(), tensors.end(),
                              [](const TensorArg* a, const TensorArg* b) {
                                return Elements(a->dims) < Elements(b->dims);
                              }))
        ->dims;
  }

  /// Returns the widest type. Numbers that were recorded as tensors do not count.
  static DType WidestOf(const std::vector<const TensorArg*>& tensors) {
    DType widest = DType::kUnknown;
    for (const TensorArg* tensor : tensors) {
      if (!tensor->dims.empty() && BytesPerElement(tensor->dtype) > BytesPerElement(widest))
        widest = tensor->dtype;
    }
    return widest == DType::kUnknown ? tensors.front()->dtype : widest;
  }

  const StepOperators& step_;
  const StepOperator& op_;
  const OperatorCall& call_;
  std::string_view name_;  ///< Without "aten::".
  std::vector<const TensorArg*> args_;
};

}  // namespace

std::vector<std::int64_t> ContiguousStrides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<std::int64_t>(1, dims[d]);
  return strides;
}

std::optional<TensorArg> ViewOf(const StepOperator& op) {
  if (op.name != "aten::as_strided" && op.name != "aten::view" && op.name != "aten::_unsafe_view" &&
      op.name != "aten::_reshape_alias")
    return std::nullopt;
  const TensorArg* seen = op.call ? TensorAt(*op.call, 0) : nullptr;
  if (seen == nullptr || seen->dtype == DType::kUnknown || !op.tasks.empty()) return std::nullopt;
  std::optional<std::vector<std::int64_t>> dims = IntListAt(*op.call, 1);
  if (!dims) return std::nullopt;
  std::int64_t known = 1;
  for (const std::int64_t extent : *dims) known *= extent == -1 ? 1 : extent;
  for (std::int64_t& extent : *dims) {
    if (extent == -1)
      extent = std::llround(Elements(seen->dims)) / std::max<std::int64_t>(1, known);
  }
  // as_strided and _reshape_alias state the strides of the view.
  constexpr std::size_t kStrides = 2;
  const bool has_strides = op.name == "aten::as_strided" || op.name == "aten::_reshape_alias";
  std::vector<std::int64_t> strides;
  if (has_strides) {
    strides = IntListAt(*op.call, kStrides).value_or(std::vector<std::int64_t>());
  } else if (seen->strides == ContiguousStrides(seen->dims)) {
    strides = ContiguousStrides(*dims);
  }
  return TensorArg{.dims = *std::move(dims), .strides = std::move(strides), .dtype = seen->dtype};
}

std::optional<std::vector<TensorArg>> ResultsOf(const StepOperators& step, std::size_t op) {
  if (!step.list[op].call) return std::vector<TensorArg>();
  return ResultFinder(step, op).Find();
}

}  // namespace headroom
