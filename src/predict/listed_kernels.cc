#include "predict/listed_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "kernels/vector_time.h"
#include "predict/listed_convolutions.h"
#include "predict/listed_update.h"

namespace headroom {
namespace {

using Json = nlohmann::json;

constexpr double kFloat = 4;  // Bytes.
/// Fewer channels per group than this are not multiplied as matrices.
constexpr std::int64_t kFewChannels = 8;

/// Elementwise operators of two tensors: they read both, unless the second is a single number.
constexpr std::array<std::string_view, 13> kPointwiseOfTwo = {
    "add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le", "gt", "ge", "maximum", "minimum"};
/// Elementwise operators that read one tensor of the result's size.
constexpr std::array<std::string_view, 44> kPointwiseOfOne = {
    "addu",     "subu",       "mulu",        "divu",        "powu",        "relu",        "gelu",
    "tanh",     "sigmoid",    "exp",         "silu",        "mish",        "elu",         "selu",
    "softplus", "leaky_relu", "hardswish",   "hardtanh",    "hardsigmoid", "abs",         "neg",
    "sqrt",     "rsqrt",      "reciprocal",  "log",         "log1p",       "expm1",       "sin",
    "cos",      "erf",        "clamp",       "clamp_min",   "clamp_max",   "masked_fill", "where",
    "tril",     "triu",       "bitwise_not", "logical_not", "sign",        "floor",       "ceil",
    "round",    "square"};

template <typename Names>
bool IsAmong(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Converts the kernels that a row lists to work.
class RowWorks {
 public:
  RowWorks(const ListedRow& row, RowsBefore& before, OperatorList& list)
      : row_(row), before_(before), list_(list) {}

  Status Add() {
    constexpr std::array<std::string_view, 5> kModes = {"", "train", "training", "inf",
                                                        "inference"};
    if (std::find(kModes.begin(), kModes.end(), row_.mode) == kModes.end())
      return BadRow(row_.place, fmt::format("mode '{}' is neither train nor inf", row_.mode));
    const std::size_t before = list_.works.size();
    Status status = AddKernels(StepPhase::kForward, row_.forward);
    const bool training = row_.IsTraining();
    if (status.ok() && training) status = AddKernels(StepPhase::kBackward, row_.backward);
    if (status.ok() && training) status = AddKernels(StepPhase::kAccumulate, row_.accumulate);
    if (status.ok()) AddUnlisted(training);
    for (std::size_t i = before; i < list_.works.size(); ++i) Complete(list_.works[i]);
    ++list_.operators;
    if (list_.works.size() == before) ++list_.without_work;
    before_.name = row_.name;
    return status;
  }

 private:
  /// Sets the types that the row states for all its kernels.
  void Complete(ListedWork& work) const {
    work.autocast = row_.autocast.value_or(AutocastOf(work));
    // Autocast is off in the backward: a bias's gradient is summed in the type that arrives.
    if (work.phase == StepPhase::kBackward && SumsRows()) work.autocast = AutocastType::kInput;
    const bool convolution = std::holds_alternative<ConvolutionWork>(work.work.shape) ||
                             std::holds_alternative<ConvolutionShape>(work.work.shape);
    work.allows_tf32 = convolution && !row_.dtype;
    if (!row_.output.empty()) work.result = ElementsOf(row_.output);
    for (const Extents& input : row_.inputs)
      work.largest_input = std::max(work.largest_input, ElementsOf(input));
    if (row_.dtype) {
      work.exact_type = true;
      SetType(*row_.dtype, work.work);
    }
  }

  /// Returns the type that PyTorch's autocast chooses on GPUs, by the operator.
  /// Source: docs.pytorch.org/docs/stable/amp.html, "CUDA Ops that can autocast".
  AutocastType AutocastOf(const ListedWork& work) const {
    const auto& shape = work.work.shape;
    if (std::holds_alternative<ProductWork>(shape) ||
        std::holds_alternative<ConvolutionWork>(shape) ||
        std::holds_alternative<ConvolutionShape>(shape) ||
        std::holds_alternative<RecurrentWork>(shape) ||
        std::holds_alternative<AttentionWork>(shape))
      return AutocastType::kHalf;
    constexpr std::array<std::string_view, 14> kFloat32 = {
        "VECexp", "VECpow", "VECpowu", "VEClog", "VECsoftmax", "VECln",    "VECsoftplus",
        "VECsum", "norm",   "cumsum",  "sum",    "prod",       "nll_loss", "VECrsqrt"};
    return work.phase == StepPhase::kAccumulate || work.phase == StepPhase::kUpdate ||
                   IsAmong(kFloat32, row_.op) || IsAmong(kFloat32, row_.name)
               ? AutocastType::kFloat32
               : AutocastType::kInput;
  }

  /// Returns the elements per result of the convolution with few channels whose gradient the row
  /// is.
  double ElementsOfGradient() {
    std::size_t& seen =
        row_.name == "depthwise_wgrad" ? before_.weight_gradients : before_.data_gradients;
    ++seen;
    constexpr double kUsual = kFewChannelsBase + 9;  // 3 x 3, without a forward in the list.
    const auto& all = before_.few_channels;
    return seen <= all.size() ? all[all.size() - seen] : kUsual;
  }

  /// Returns true for the addition of a bias to the product of the row before: PyTorch 2 has one
  /// kernel for both, PyTorch 1.13 only for matrices.
  bool AddsBias(StepPhase phase, double elements) const {
    if (phase != StepPhase::kForward || before_.name != "mm" || row_.name != "add" ||
        row_.inputs.size() > 1 || list_.works.empty())
      return false;
    const auto* product = std::get_if<ProductWork>(&list_.works.back().work.shape);
    return product != nullptr && product->m * product->n == elements;
  }

  /// Returns true for a row that a backward sums over, such as the gradient of a bias.
  bool SumsRows() const { return row_.name == "sum" || row_.name.ends_with("bias_grad"); }

  bool ScalarOperand() const {
    return row_.inputs.size() == 1 || (row_.inputs.size() == 2 && ElementsOf(row_.inputs[1]) == 1);
  }

  /// Returns true if the list contains the weight of a product as (k x n), as for addmm. A layer
  /// stores its weight as (n x k), and its row lists only the activation.
  bool WeightIsListed(double m, double k, double n) const {
    const auto is_activation = [&](const Extents& shape) {
      return !shape.empty() && shape.back() == k && ElementsOf(shape) == m * k;
    };
    const auto activation = std::find_if(row_.inputs.begin(), row_.inputs.end(), is_activation);
    for (auto input = row_.inputs.begin(); input != row_.inputs.end(); ++input) {
      if (input != activation && *input == Extents{k, n}) return true;
    }
    return false;
  }

  /// Returns a product of the list with the layout of its operands.
  ProductWork Product(StepPhase phase, double m, double k, double n, std::size_t index) {
    ProductWork work = {.m = m, .k = k, .n = n};
    if (phase == StepPhase::kForward) {
      forward_ = work;
      work.second_along_k = !WeightIsListed(m, k, n);
      layer_ = work.second_along_k;
    } else if (index == 0 && forward_.m == m && forward_.k == n && forward_.n == k) {
      work.second_along_k = !layer_;  // The data gradient uses the same weight, transposed.
    } else {
      work.first_along_k = false;  // The weight gradient sums over the rows of both operands.
    }
    return work;
  }

  void Push(StepPhase phase, const KernelWork& work) {
    list_.works.push_back(
        {.op = list_.operators, .phase = phase, .repeats = row_.repeats, .work = work});
  }
  void PushBytes(StepPhase phase, double bytes, double kernels = 1) {
    if (bytes > 0) Push(phase, {.shape = PointwiseWork{.bytes = bytes, .kernels = kernels}});
  }

  Status AddKernels(StepPhase phase, const Json& kernels) {
    if (!kernels.is_array())
      return BadRow(
          row_.place,
          "kernels must be a list of [kind, dimensions], such as [[\"VECrelu\", [64, 128]]]");
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const Json& kernel = kernels[i];
      if (!kernel.is_array() || kernel.size() != 2 || !kernel[0].is_string() ||
          !kernel[1].is_array())
        return BadRow(
            row_.place,
            "kernels must be a list of [kind, dimensions], such as [[\"VECrelu\", [64, 128]]]");
      const auto& kind = kernel[0].get_ref<const std::string&>();
      constexpr std::size_t kLongestKind = 64;
      if (kind.empty() || kind.size() > kLongestKind)
        return BadRow(row_.place,
                      fmt::format("the kind of kernel {} is empty or too long; correct it", i + 1));
      if (Status status = AddKernel(phase, kind, kernel[1], i); !status.ok()) return status;
    }
    return Status::Ok();
  }

  Status AddKernel(StepPhase phase, const std::string& kind, const Json& dimensions,
                   std::size_t index) {
    if (kind == "MEM") {
      if (IsTooMany(AllElements(dimensions))) {
        return BadRow(row_.place,
                      fmt::format("shapes of MEM have more than {:g} elements; correct them",
                                  kMaxListedElements));
      }
      AddMemory(phase, LargestElements(dimensions), dimensions, index);
      return Status::Ok();
    }
    constexpr std::array<std::string_view, 8> kKinds = {"Linear", "BMM",  "CONV2D", "SENDRECV",
                                                        "SDPA",   "LSTM", "GRU",    "RNN"};
    if (IsListedConvolution(kind)) return AddConvolution(phase, kind, dimensions);
    if (kind == "GRAD" || UpdateWorkOf(kind, 1, 1)) return AddOfParameters(kind, dimensions);
    const bool is_vector = kind.starts_with("VEC"), is_collective = kind.starts_with("ALLREDUCE");
    if (!is_vector && !is_collective &&
        std::find(kKinds.begin(), kKinds.end(), kind) == kKinds.end()) {
      ++list_.unpredicted[kind];  // The meaning of its dimensions is unknown too.
      return Status::Ok();
    }
    const std::optional<Extents> extents = ExtentsOf(dimensions);
    // The padding of a convolution, its last extent, can be 0.
    const std::size_t padding = kind == "CONV2D" ? 1 : 0;
    const bool sound =
        extents && extents->size() >= padding &&
        std::all_of(extents->begin(), extents->end() - static_cast<std::ptrdiff_t>(padding),
                    [](double extent) { return extent >= 1; }) &&
        std::all_of(extents->begin(), extents->end(),
                    [](double extent) { return extent == std::floor(extent); });
    if (!sound || IsTooMany(ElementsOf(*extents))) {
      return BadRow(
          row_.place,
          fmt::format("dimensions of {} must be whole numbers, 1 or more, whose product is below "
                      "{:g}",
                      kind, kMaxListedElements));
    }
    const auto wants = [&](std::size_t count, std::string_view form) {
      if (extents->size() == count) return Status::Ok();
      return BadRow(row_.place, fmt::format("dimensions of {} must be {}", kind, form));
    };
    if (kind == "Linear") {
      if (Status status = wants(3, "(m, k, n)"); !status.ok()) return status;
      Push(phase, {.shape = Product(phase, (*extents)[0], (*extents)[1], (*extents)[2], index)});
      return Status::Ok();
    }
    if (kind == "BMM") {
      if (Status status = wants(4, "(b, m, k, n)"); !status.ok()) return status;
      Push(phase, {.shape = ProductWork{.batch = (*extents)[0],
                                        .m = (*extents)[1],
                                        .k = (*extents)[2],
                                        .n = (*extents)[3],
                                        .batched = true}});
      return Status::Ok();
    }
    if (kind == "CONV2D") {
      if (Status status = wants(7, "(b, cin, cout, ksize, insize, stride, pad)"); !status.ok())
        return status;
      const ConvolutionWork work = {.batch = (*extents)[0],
                                    .in_channels = (*extents)[1],
                                    .out_channels = (*extents)[2],
                                    .kernel = (*extents)[3],
                                    .image = (*extents)[4],
                                    .stride = (*extents)[5],
                                    .padding = (*extents)[6]};
      if (OutputSide(work) < 1)
        return BadRow(
            row_.place,
            "the kernel of CONV2D is larger than the padded image; correct its dimensions");
      const bool gradient = row_.name == "conv_dgrad" || row_.name == "conv_wgrad";
      if (gradient || row_.channels_last) {
        Push(phase, {.shape = ShapeOf(work)});
      } else {
        Push(phase, {.shape = work});
      }
      return Status::Ok();
    }
    if (kind == "SDPA") {
      constexpr std::size_t kCausal = 5;
      const bool causal = extents->size() > kCausal && (*extents)[kCausal] == 1;
      if (Status status = wants(causal ? kCausal + 1 : kCausal,
                                "(b, heads, q, kv, head size), and 1 if it is causal");
          !status.ok())
        return status;
      AddAttention(phase, *extents);
      return Status::Ok();
    }
    if (kind == "LSTM" || kind == "GRU" || kind == "RNN") {
      if (Status status = wants(6, "(b, seq, in, hidden, layers, directions)"); !status.ok())
        return status;
      constexpr double kMaxLayers = 1000, kMaxDirections = 2;
      if ((*extents)[4] > kMaxLayers || (*extents)[5] > kMaxDirections) {
        return BadRow(row_.place, fmt::format("{} has at most {} layers and {} directions", kind,
                                              kMaxLayers, kMaxDirections));
      }
      Push(phase, {.shape = RecurrentWork{.batch = (*extents)[0],
                                          .steps = (*extents)[1],
                                          .inputs = (*extents)[2],
                                          .hidden = (*extents)[3],
                                          .layers = (*extents)[4],
                                          .directions = (*extents)[5],
                                          .gates = kind == "LSTM"  ? 4.0
                                                   : kind == "GRU" ? 3.0
                                                                   : 1.0,
                                          .backward = phase != StepPhase::kForward}});
      return Status::Ok();
    }
    if (is_vector) {
      if (Status status = wants(2, "(rows, columns)"); !status.ok()) return status;
      AddVector(phase, kind, kind.substr(3), (*extents)[0], (*extents)[1], index);
      return Status::Ok();
    }
    ++list_.collectives;
    return Status::Ok();
  }

  /// Adds a gradient that is ready without a kernel (PyTorch keeps what the backward wrote), or the
  /// update of parameters.
  Status AddOfParameters(const std::string& kind, const Json& dimensions) {
    const std::optional<Extents> extents = ExtentsOf(dimensions);
    const bool update = kind != "GRAD";
    const bool sound = extents && extents->size() == (update ? 2U : 1U) &&
                       std::all_of(extents->begin(), extents->end(), [](double extent) {
                         return extent >= 1 && extent == std::floor(extent);
                       });
    if (!sound || IsTooMany(extents->front())) {
      return BadRow(row_.place, fmt::format("dimensions of {} must be {}", kind,
                                            update ? "(parameters, tensors)" : "(elements)"));
    }
    if (!row_.IsTraining()) return Status::Ok();
    if (update) {
      Push(StepPhase::kUpdate, {.shape = *UpdateWorkOf(kind, (*extents)[0], (*extents)[1])});
    } else {
      Push(StepPhase::kAccumulate, {.shape = PointwiseWork{.bytes = 0, .kernels = 0}});
      list_.works.back().gradient_bytes = kFloat * extents->front();
    }
    return Status::Ok();
  }

  /// Returns the square convolution with its gradients and memory order.
  ConvolutionShape ShapeOf(const ConvolutionWork& work) const {
    ConvolutionShape shape = GeneralShape(work, DType::kF32);
    shape.channels_last = row_.channels_last;
    shape.data_gradient = row_.name == "conv_dgrad";
    shape.weight_gradient = row_.name == "conv_wgrad";
    return shape;
  }

  Status AddConvolution(StepPhase phase, const std::string& kind, const Json& dimensions) {
    const std::optional<Extents> extents = ExtentsOf(dimensions);
    const Result<ConvolutionShape> shape = ReadConvolution(kind, extents.value_or(Extents()), row_);
    if (!shape.ok()) return shape.status();
    if (IsTooMany(shape.value().FlopsPerPart())) {
      return BadRow(row_.place, fmt::format("{} has more than {:g} operations; correct its "
                                            "dimensions",
                                            kind, kMaxListedElements));
    }
    const bool few =
        shape.value().groups > 1 && shape.value().in_channels / shape.value().groups < kFewChannels;
    if (few) {
      AddFewChannels(phase, shape.value());
    } else {
      Push(phase, {.shape = shape.value()});
    }
    return Status::Ok();
  }

  /// Adds a convolution with few channels per group, which runs without matrix products.
  void AddFewChannels(StepPhase phase, const ConvolutionShape& shape) {
    const double multiplications = shape.FlopsPerPart() / 2;
    const double each = multiplications / Results(shape);
    const double elements = static_cast<double>(shape.batch) *
                                static_cast<double>(shape.in_channels) * ProductOf(shape.in) +
                            Results(shape);
    PushFewChannels(phase, Results(shape), each, elements * kFloat);
  }

  static double ProductOf(const std::vector<std::int64_t>& extents) {
    double all = 1;
    for (const std::int64_t extent : extents) all *= static_cast<double>(extent);
    return all;
  }

  static double Results(const ConvolutionShape& shape) {
    return static_cast<double>(shape.batch) * static_cast<double>(shape.out_channels) *
           ProductOf(shape.out);
  }

  /// @param each  multiplications per result
  void PushFewChannels(StepPhase phase, double results, double each, double bytes) {
    if (phase == StepPhase::kForward) before_.few_channels.push_back(kFewChannelsBase + each);
    Push(phase, {.shape = InstructionWork{.kind = InstructionKind::kFewChannels,
                                          .elements = results * (kFewChannelsBase + each),
                                          .bytes = bytes}});
  }

  /// Adds fused attention: forward, or its backward, whose five products take 2.5 times as long.
  void AddAttention(StepPhase phase, const Extents& extents) {
    const AttentionWork work = {.batch = extents[0],
                                .query_heads = extents[1],
                                .key_heads = extents[1],
                                .head_size = extents[4],
                                .queries = extents[2],
                                .keys = extents[3],
                                .causal = extents.size() > 5,
                                .backward = phase != StepPhase::kForward};
    Push(phase, {.shape = work});
  }

  void AddVector(StepPhase phase, const std::string& kind, const std::string& op, double rows,
                 double columns, std::size_t index) {
    const double bytes = rows * columns * kFloat;
    if (op == "ln" || op == "softmax") {
      Push(phase,
           {.shape = RowwiseWork{.rows = rows, .columns = columns, .softmax = op == "softmax"}});
      return;
    }
    // The backward of a layer norm is listed as a product. It reads gradient and input twice, and
    // writes gradients of input, weight and bias.
    if (phase == StepPhase::kBackward && row_.op == "VECln") {
      constexpr double kTensors = 5;
      if (index == 0) PushBytes(phase, kTensors * bytes, 2);
      return;
    }
    if (phase == StepPhase::kBackward && SumsRows()) {
      PushBytes(phase, bytes);  // Reads each element; the sums are few.
      return;
    }
    if (phase == StepPhase::kBackward && row_.name.starts_with("depthwise_")) {
      Push(phase, {.shape = InstructionWork{.kind = InstructionKind::kFewChannelsGradient,
                                            .elements = rows * columns * ElementsOfGradient(),
                                            .bytes = 2 * bytes}});
      return;
    }
    if (AddsBias(phase, rows * columns)) return;
    const bool of_two = IsAmong(kPointwiseOfTwo, op);
    if (!of_two && !IsAmong(kPointwiseOfOne, op)) ++list_.guessed[kind];
    if (op == "gelu" && phase == StepPhase::kForward) {
      Push(phase,
           {.shape = InstructionWork{
                .kind = InstructionKind::kGelu, .elements = rows * columns, .bytes = 2 * bytes}});
      return;
    }
    // A second operand that is a single number is not read and has no gradient.
    const bool scalar = of_two && row_.op == kind && ScalarOperand();
    if (scalar && phase == StepPhase::kBackward && index > 0) return;
    PushBytes(phase, of_two && !scalar ? BytesOfTwo(bytes, kind) : 2 * bytes);
    if (phase == StepPhase::kAccumulate) list_.works.back().gradient_bytes = bytes;
  }

  /// Returns the bytes of an operator of two tensors, of which one can be smaller than the result.
  double BytesOfTwo(double bytes, const std::string& kind) const {
    constexpr double kTensors = 3;
    if (row_.op != kind || row_.inputs.size() != 2) return kTensors * bytes;
    double all = bytes;
    for (const Extents& input : row_.inputs) all += std::min(bytes, ElementsOf(input) * kFloat);
    return all;
  }

  /// Adds kernels that the list describes by their tensors.
  void AddMemory(StepPhase phase, double elements, const Json& shapes, std::size_t index) {
    const double bytes = elements * kFloat;
    if (row_.op == "getitem") return;  // A view.
    if (phase != StepPhase::kForward) {
      // The backward lists one kernel per input. Gradients of additions and copies are views.
      if (index > 0) return;
      if (row_.op == "dropout") {
        // PyTorch: grad * (mask.type_as(grad) * scale), three kernels.
        constexpr double kTraffic = 25.0 / 4;
        PushBytes(phase, kTraffic * bytes, 3);
      } else if (row_.op == "where" || row_.op == "EMBEDDING") {
        PushBytes(phase, row_.op == "where" ? 2 * bytes : bytes);
      }
      return;
    }
    if (row_.op == "dropout") {
      // Dropout reads its input, and writes its result and a mask of one byte per element.
      constexpr double kTraffic = 9.0 / 4;
      PushBytes(phase, kTraffic * bytes);
    } else if (row_.op == "where" || row_.op == "contiguous" || row_.op == "EMBEDDING") {
      PushBytes(phase, 2 * bytes);
    } else {
      AddNamedMemory(phase, shapes);
    }
  }

  /// Adds kernels that move tensors and whose name shows what they compute.
  void AddNamedMemory(StepPhase phase, const Json& shapes) {
    const double bytes = AllElements(shapes) * kFloat;
    if (row_.name == "depthwise_conv" && shapes.size() == 3) {
      // The input, the weights of (cout, cin / groups, k, k), and the result.
      const std::optional<Extents> weights = ExtentsOf(shapes[1]), result = ExtentsOf(shapes[2]);
      if (weights && result && !weights->empty() && (*weights)[0] > 0) {
        PushFewChannels(phase, ElementsOf(*result), ElementsOf(*weights) / (*weights)[0], bytes);
        return;
      }
    }
    const bool norm = row_.name.starts_with("native_") && row_.name.ends_with("_norm");
    // Without statistics, a normalization reads its input once.
    const bool plain = norm && shapes.size() == 2;
    if (!plain && (norm || row_.name.find("_pool") != std::string::npos)) {
      Push(phase,
           {.shape = InstructionWork{
                .kind = InstructionKind::kStatistics, .elements = bytes / kFloat, .bytes = bytes}});
      return;
    }
    constexpr std::array<std::string_view, 4> kLosses = {"smooth_l1_loss", "huber_loss", "mse_loss",
                                                         "binary_cross_entropy"};
    if (IsAmong(kLosses, row_.name)) {
      // Reads prediction and target, writes the differences, and reads them for the mean.
      constexpr double kTensors = 4, kKernels = 2;
      PushBytes(phase, kTensors * LargestElements(shapes) * kFloat, kKernels);
      return;
    }
    // The largest element, differences, exponentials, their sum, its logarithm.
    constexpr double kOfLogSumExp = 6;
    PushBytes(phase, bytes, row_.name == "logsumexp" ? kOfLogSumExp : 1);
  }

  /// Adds operators that have kernels but are listed without them, identified by name.
  void AddUnlisted(bool training) {
    if (!row_.forward.empty() || row_.op != "misc") return;
    const std::string_view name = std::string_view(row_.name).substr(0, row_.name.find('_'));
    const double elements = ElementsOf(row_.output);
    if (row_.output.empty() || elements <= 1) return;
    constexpr std::array<std::string_view, 3> kPointwiseOfOne = {"max", "min", "masked"};
    if (std::find(kPointwiseOfOne.begin(), kPointwiseOfOne.end(), name) == kPointwiseOfOne.end())
      return;
    PushBytes(StepPhase::kForward, elements * kFloat * 2);
    // where(a == b, grad / 2, grad).masked_fill(a < b, 0): five kernels.
    constexpr double kBackward = 10;
    if (training && name != "masked")
      PushBytes(StepPhase::kBackward, elements * kFloat * kBackward, 5);
  }

  const ListedRow& row_;
  RowsBefore& before_;
  OperatorList& list_;
  ProductWork forward_;  ///< The row's last product in the forward ...
  bool layer_ = false;   ///< ... and whether its weight has a layer's layout.
};

}  // namespace

Status AddListedKernels(const ListedRow& row, RowsBefore& before, OperatorList& list) {
  return RowWorks(row, before, list).Add();
}

}  // namespace headroom
