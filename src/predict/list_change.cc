#include "predict/list_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "kernels/kernel_work.h"
#include "kernels/vector_time.h"
#include "predict/list_compile.h"

namespace headroom {
namespace {

constexpr std::string_view kChanges =
    "tf32, amp:dtype=bf16|fp16, half:dtype=bf16|fp16, fp8, channels-last, "
    "compile:mode=default|reduce-overhead|max-autotune|max-autotune-no-cudagraphs, cuda-graph, "
    "unfused-attention";

bool IsConvolution(const KernelWork& work) { return ClassOf(work) == WorkClass::kConvolution; }

bool IsHalf(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

/// Elements that autocast converts before an operator in 16 bits.
struct Operands {
  double activations = 0, weights = 0;
};

Operands OperandsOf(const KernelWork& work) {
  if (const auto* product = std::get_if<ProductWork>(&work.shape)) {
    const double first = product->batch * product->m * product->k;
    const double second = product->batch * product->k * product->n;
    if (product->batched) return {.activations = first + second};
    return {.activations = first, .weights = second};
  }
  const auto of_convolution = [](const ConvolutionWork& c) {
    return Operands{.activations = c.batch * c.in_channels * c.image * c.image,
                    .weights = c.in_channels * c.out_channels * c.kernel * c.kernel};
  };
  if (const auto* convolution = std::get_if<ConvolutionWork>(&work.shape))
    return of_convolution(*convolution);
  if (const auto* general = std::get_if<ConvolutionShape>(&work.shape))
    return of_convolution(SquareOf(*general));
  return {};
}

/// Returns the elements of the result of a kernel that reads as much as it writes.
double ResultElements(const KernelWork& work) {
  if (const auto* rows = std::get_if<RowwiseWork>(&work.shape)) return rows->rows * rows->columns;
  constexpr double kReadAndWritten = 2;
  if (const auto* pointwise = std::get_if<PointwiseWork>(&work.shape))
    return pointwise->bytes / BytesPerElement(work.dtype) / kReadAndWritten;
  return 0;
}

/// Rewrites one list in the types of autocast, in its order.
class Autocast {
 public:
  explicit Autocast(DType half) : half_(half) {}

  void Apply(OperatorList& list) {
    std::vector<ListedWork> works;
    works.reserve(list.works.size());
    DType current = DType::kF32;
    for (ListedWork listed : list.works) {
      if (listed.exact_type) {
        current = IsHalf(listed.work.dtype) ? half_ : DType::kF32;
        works.push_back(std::move(listed));
        continue;
      }
      const bool of_parameters =
          listed.phase == StepPhase::kAccumulate || listed.phase == StepPhase::kUpdate;
      switch (listed.autocast) {
        case AutocastType::kHalf: {
          const Operands operands = OperandsOf(listed.work);
          if (current != half_) AddCast(listed, operands.activations, works);
          // Parameters stay in float32, so each step converts them.
          if (listed.phase == StepPhase::kForward) AddCast(listed, operands.weights, works);
          current = half_;
          listed.allows_tf32 = false;
          break;
        }
        case AutocastType::kFloat32:
          if (current == half_ && !of_parameters)
            AddCast(listed, ResultElements(listed.work), works);
          if (!of_parameters) current = DType::kF32;
          break;
        case AutocastType::kInput:
          break;
      }
      SetType(of_parameters ? DType::kF32 : current, listed.work);
      works.push_back(std::move(listed));
    }
    list.works = std::move(works);
  }

 private:
  /// Adds the conversion of `elements` between 16 and 32 bits.
  static void AddCast(const ListedWork& before, double elements, std::vector<ListedWork>& works) {
    if (elements <= 0) return;
    constexpr double kBytes = 2 + 4;
    works.push_back({.op = before.op,
                     .phase = before.phase,
                     .repeats = before.repeats,
                     .work = {.shape = PointwiseWork{.bytes = elements * kBytes}}});
  }

  DType half_;
};

/// Replaces fused attention by its operators: two products with a scaled softmax between them, the
/// copies of their operands, and the gradients of all.
void MakeUnfusedAttention(OperatorList& list) {
  std::vector<ListedWork> works;
  works.reserve(list.works.size());
  for (const ListedWork& listed : list.works) {
    const auto* attention = std::get_if<AttentionWork>(&listed.work.shape);
    if (attention == nullptr || attention->query_heads != attention->key_heads) {
      works.push_back(listed);
      continue;
    }
    const auto add = [&](const auto& shape, AutocastType autocast) {
      ListedWork part = listed;
      part.work.shape = shape;
      part.autocast = autocast;
      works.push_back(std::move(part));
    };
    const double element_bytes = BytesPerElement(listed.work.dtype);
    const double heads = attention->batch * attention->query_heads, queries = attention->queries,
                 keys = attention->keys, size = attention->head_size;
    const double scores = heads * queries * keys;
    const auto product = [&](double m, double k, double n) {
      add(ProductWork{.batch = heads, .m = m, .k = k, .n = n, .batched = true},
          AutocastType::kHalf);
    };
    const auto moved = [&](double elements) {
      add(PointwiseWork{.bytes = element_bytes * elements}, AutocastType::kInput);
    };
    // Queries, keys and values, or their gradients, change places in memory.
    moved(2 * heads * size * (queries + 2 * keys));
    if (attention->backward) {
      product(queries, size, keys);
      product(keys, queries, size);
      add(PointwiseWork{.bytes = 3 * element_bytes * scores}, AutocastType::kFloat32);
      moved(2 * scores);
      product(queries, keys, size);
      product(keys, queries, size);
    } else {
      product(queries, size, keys);
      moved(2 * scores);
      add(RowwiseWork{.rows = heads * queries, .columns = keys, .softmax = true},
          AutocastType::kFloat32);
      product(queries, keys, size);
    }
  }
  list.works = std::move(works);
}

void MakeTf32(OperatorList& list) {
  for (ListedWork& listed : list.works)
    listed.allows_tf32 |= !listed.exact_type && OperandsOf(listed.work).activations > 0;
}

void MakeHalf(DType half, OperatorList& list) {
  for (ListedWork& listed : list.works) {
    if (listed.exact_type) continue;
    listed.allows_tf32 = false;
    SetType(half, listed.work);
  }
}

/// Time of a depthwise convolution's gradients in NHWC, relative to NCHW: image models of
/// gpu-modern/ on one GPU.
constexpr double kGradientInNhwc = 0.6;

void MakeChannelsLast(OperatorList& list) {
  for (ListedWork& listed : list.works) {
    auto* instructions = std::get_if<InstructionWork>(&listed.work.shape);
    if (instructions != nullptr && instructions->kind == InstructionKind::kFewChannelsGradient)
      instructions->elements *= kGradientInNhwc;
    if (!IsConvolution(listed.work)) continue;
    if (const auto* square = std::get_if<ConvolutionWork>(&listed.work.shape))
      listed.work.shape = GeneralShape(*square, listed.work.dtype);
    auto& shape = std::get<ConvolutionShape>(listed.work.shape);
    if (shape.in.size() == 2) shape.channels_last = true;
  }
}

/// Returns the type that "dtype=NAME" states, bf16 if it is empty; nullopt for other parameters.
std::optional<DType> HalfOf(std::string_view parameters) {
  if (parameters.empty() || parameters == "dtype=bf16") return DType::kBF16;
  if (parameters == "dtype=fp16") return DType::kF16;
  return std::nullopt;
}

/// Returns how the host launches code that torch.compile generated in a mode; nullopt for other
/// parameters.
std::optional<ListLaunch> CompiledLaunch(std::string_view parameters) {
  if (parameters.empty() || parameters == "mode=default" ||
      parameters == "mode=max-autotune-no-cudagraphs")
    return ListLaunch::kCompiled;
  if (parameters == "mode=reduce-overhead" || parameters == "mode=max-autotune")
    return ListLaunch::kGraph;
  return std::nullopt;
}

/// Launches the list as one CUDA graph.
void MakeGraph(OperatorList& list) {
  list.launch = ListLaunch::kGraph;
  if (list.works.empty()) return;
  // The graph reads its inputs at fixed addresses, so each call copies them there.
  const ListedWork& first = list.works.front();
  const double bytes = 2 * first.largest_input * BytesPerElement(first.work.dtype);
  if (bytes > 0) {
    list.works.insert(list.works.begin(),
                      ListedWork{.op = first.op, .work = {.shape = PointwiseWork{.bytes = bytes}}});
  }
}

/// Runs products of layers in 8 bits whose extents are multiples of 16, and adds the conversion of
/// their weights in each step. The time of a product includes that of its activations. Returns
/// false if no product runs in 16 bits.
bool MakeEightBit(OperatorList& list) {
  constexpr double kMultiple = 16;
  const auto is_even = [](double extent) { return std::fmod(extent, kMultiple) == 0; };
  bool any = false;
  std::vector<ListedWork> works;
  works.reserve(list.works.size());
  for (ListedWork& listed : list.works) {
    auto* product = std::get_if<ProductWork>(&listed.work.shape);
    const bool layer =
        product != nullptr && !product->batched && !listed.exact_type && IsHalf(listed.work.dtype);
    any |= layer;
    if (layer && is_even(product->m) && is_even(product->k) && is_even(product->n)) {
      if (listed.phase == StepPhase::kForward) {
        constexpr double kReadAndWritten = 2 + 1;
        ListedWork conversion = listed;
        conversion.work = {.shape =
                               PointwiseWork{.bytes = kReadAndWritten * product->k * product->n}};
        works.push_back(std::move(conversion));
      }
      SetType(DType::kF8, listed.work);
      product->quantizes = true;
    }
    works.push_back(std::move(listed));
  }
  list.works = std::move(works);
  return any;
}

/// Kinds of changes, in the order in which they apply: types follow from operators, 8 bits from 16,
/// and the compiler sees all.
enum class ChangeKind : std::uint8_t { kOperators, kTypes, kEightBit, kLaunches };

ChangeKind KindOf(std::string_view name) {
  if (name == "unfused-attention") return ChangeKind::kOperators;
  if (name == "fp8") return ChangeKind::kEightBit;
  return name == "compile" || name == "cuda-graph" ? ChangeKind::kLaunches : ChangeKind::kTypes;
}

/// Applies a change if it is of this kind.
Status Apply(std::string_view change, ChangeKind kind, std::vector<OperatorList>& lists) {
  const std::size_t colon = change.find(':');
  const std::string_view name = change.substr(0, colon);
  const std::string_view parameters =
      colon == std::string_view::npos ? std::string_view() : change.substr(colon + 1);
  const std::optional<DType> half = HalfOf(parameters);
  const bool typed = (name == "amp" || name == "half") && half;
  const bool plain = (name == "tf32" || name == "channels-last" || name == "cuda-graph" ||
                      name == "unfused-attention" || name == "fp8") &&
                     parameters.empty();
  const std::optional<ListLaunch> compiled =
      name == "compile" ? CompiledLaunch(parameters) : std::nullopt;
  if (!typed && !plain && !compiled) {
    return Status::Usage(
        fmt::format("--with '{}': no such change of a list of operators; use {}, joined by +",
                    change, kChanges));
  }
  if (kind != KindOf(name)) return Status::Ok();
  bool any_in_8_bits = name != "fp8";
  for (OperatorList& list : lists) {
    if (name == "amp") Autocast(*half).Apply(list);
    if (name == "half") MakeHalf(*half, list);
    if (name == "tf32") MakeTf32(list);
    if (name == "unfused-attention") MakeUnfusedAttention(list);
    if (name == "channels-last") MakeChannelsLast(list);
    if (name == "fp8") any_in_8_bits |= MakeEightBit(list);
    if (compiled) FuseAsCompiled(list);
    if (name == "cuda-graph" || compiled == ListLaunch::kGraph) MakeGraph(list);
  }
  if (!any_in_8_bits) {
    return Status::Usage(
        "--with fp8: no linear layer runs in 16 bits; add amp or half, as in amp+fp8");
  }
  return Status::Ok();
}

}  // namespace

Status ApplyToLists(std::string_view changes, std::vector<OperatorList>& lists) {
  for (const ChangeKind kind :
       {ChangeKind::kOperators, ChangeKind::kTypes, ChangeKind::kEightBit, ChangeKind::kLaunches}) {
    std::string_view rest = changes;
    for (std::size_t plus = 0; plus != std::string_view::npos;
         rest.remove_prefix(std::min(rest.size(), plus + 1))) {
      plus = rest.find('+');
      if (Status status = Apply(rest.substr(0, plus), kind, lists); !status.ok()) return status;
      if (plus == std::string_view::npos) break;
    }
  }
  return Status::Ok();
}

}  // namespace headroom
