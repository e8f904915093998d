// fp8: linear layers multiply in 8 bits, in the forward and for both gradients, with results of 16
// bits. The library's kernels have the same tiles in both types, so all but their start shrinks by
// the ratio of the rates that power sustains. Each operand is converted once per step: the input
// and the weight in the forward, the gradient of the output in the backward. One pass finds the
// largest absolute value (dynamic scaling; delayed scaling uses that of earlier steps), another
// reads 16 bits and writes 8 bits in both orders, because the products of the gradients need the
// transpose. A layer whose conversions take longer than its products gain stays in 16 bits, as
// automatic filters do.
//
// Sources: Micikevicius et al., "FP8 Formats for Deep Learning" (2022); NVIDIA, Transformer Engine
// user guide (cast and transpose in one kernel); PyTorch, torchao.float8 (auto filter).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/names/operator_costs.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/precision/tensor_cores.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Published gains of products in fp8 are 1.65 to 1.8 (1.66 here for large ones); the conversions
/// were not measured. No source here has gains of block-scaled products.
constexpr double kFp8Error = 0.25, kBlockScaledError = 0.4;

/// How operands become 8 or 4 bits.
struct Recipe {
  std::string_view type;
  std::optional<double> tflops;  ///< Peak of the device; nullopt if it lacks the type.
  std::int64_t extent = 16;      ///< The library requires multiples of it.
  double operand_bytes = 1;      ///< Per element, with the scales of blocks.
  bool has_amax_pass = true;     ///< Another pass finds the largest value of the tensor.
  double error = kFp8Error;
};

/// Sources: OCP Microscaling Formats (2023): a scale of one byte for 32 elements; NVIDIA,
/// "Pretraining Large Language Models with NVFP4" (2025): one for 16 elements, and one per tensor.
/// A block finds its largest value while it is converted.
Recipe RecipeOf(const Arguments& arguments, const DeviceSpec& device) {
  constexpr double kMxBlock = 32, kNvBlock = 16;
  const std::string& name = arguments.Text("recipe");
  // Tensor cores that scale blocks multiply in 4 bits, too.
  if (name == "mxfp8") {
    return {"mxfp8", device.fp4_tensor_tflops ? device.fp8_tensor_tflops : std::nullopt,
            32,      1 + 1 / kMxBlock,
            false,   kBlockScaledError};
  }
  if (name == "nvfp4") {
    return {"nvfp4", device.vendor == "NVIDIA" ? device.fp4_tensor_tflops : std::nullopt,
            32,      0.5 + 1 / kNvBlock,
            true,    kBlockScaledError};
  }
  Recipe recipe{"fp8", device.fp8_tensor_tflops};
  recipe.has_amax_pass = arguments.Text("scaling") == "dynamic";
  return recipe;
}

/// A product in 16 bits that could run in 8.
struct EightBitProduct {
  std::vector<TaskIndex> tasks;
  DurationNs time;           ///< In fp8.
  DurationNs saved;          ///< Time now, minus that; may be negative.
  double converted = 0;      ///< Elements converted for it ...
  double conversion_ns = 0;  ///< ... in this time.
};

/// A linear layer in one step.
struct EightBitLayer {
  std::vector<EightBitProduct> products;
  double output = 0;  ///< Elements of its result, until its gradient is converted.

  /// Returns the time that fp8 saves; negative if it costs more.
  double SavedNs() const {
    double saved = 0;
    for (const EightBitProduct& product : products)
      saved += static_cast<double>(product.saved.ns()) - product.conversion_ns;
    return saved;
  }
};

/// Returns the 16-bit type that a product computes in, as recorded or after earlier scenarios;
/// nullopt if that is another type.
std::optional<DType> HalfTypeOf(const Job& job, const LaunchingOperator& op, const Edit& edit) {
  if (const std::optional<Precision> changed = edit.PrecisionOf(op.tasks.front())) {
    const DType type = TypeOf(*changed);
    return type == DType::kBF16 || type == DType::kF16 ? std::optional(type) : std::nullopt;
  }
  const OperatorCost* cost = job.CostOf(op.op);
  if (cost == nullptr) return std::nullopt;
  const bool half = cost->math_dtype == DType::kF16 || cost->math_dtype == DType::kBF16;
  return half ? std::optional(cost->math_dtype) : std::nullopt;
}

bool IsLinear(const Job& job, const LaunchingOperator& op) {
  const OperatorCall* call = job.CallOf(op.op);
  const std::optional<GemmShape> shape =
      call != nullptr ? GemmShapeOf(*call) : std::optional<GemmShape>();
  return shape && shape->batch == 1 && shape->n > 1;
}

/// Collects the linear layers of all steps whose products can run in fp8.
class EightBitLayers {
 public:
  EightBitLayers(const Job& job, const Recipe& recipe, const Edit& edit)
      : job_(job), recipe_(recipe), edit_(edit) {
    for (const LaunchingOperator& op : LaunchingOperators(job)) Add(op);
  }

  const std::map<HostEventId, EightBitLayer>& layers() const { return layers_; }
  std::int64_t in_half() const { return in_half_; }

 private:
  void Add(const LaunchingOperator& op) {
    if (IsReplaced(op.tasks, edit_) || !IsLinear(job_, op)) return;
    const std::optional<DType> half = HalfTypeOf(job_, op, edit_);
    if (!half || !PeakOf(*half)) return;
    ++in_half_;
    const GemmShape shape = *GemmShapeOf(*job_.CallOf(op.op));
    const std::int64_t extent = recipe_.extent;
    if (shape.m % extent != 0 || shape.n % extent != 0 || shape.k % extent != 0) return;
    DurationNs now{0};
    for (const TaskIndex task : op.tasks) now += edit_.DurationOf(task);
    EightBitProduct product;
    product.tasks = op.tasks;
    product.time = InEightBits(now, *half);
    product.saved = now - product.time;
    const HostContext& context = job_.ContextOf(op.tasks.front());
    const bool backward = context.phase == Phase::kBackward;
    const HostEventId forward = backward ? context.forward : op.op;
    if (!forward.valid()) return;
    EightBitLayer& layer = layers_[OutermostOperator(job_, forward)];
    const auto elements = [](std::int64_t rows, std::int64_t columns) {
      return static_cast<double>(rows) * static_cast<double>(columns);
    };
    if (!backward) {
      layer.output = elements(shape.m, shape.n);
      product.converted = elements(shape.m, shape.k) + elements(shape.k, shape.n);
    } else {
      // Both products of the backward read the gradient of the output.
      product.converted = std::exchange(layer.output, 0);
    }
    product.conversion_ns = ConversionNs(product.converted);
    layer.products.push_back(std::move(product));
  }

  const std::optional<double>& PeakOf(DType half) const {
    return half == DType::kBF16 ? job_.device()->bf16_tensor_tflops
                                : job_.device()->fp16_tensor_tflops;
  }

  /// Returns the time of a kernel in 16 bits that moves half the bytes and multiplies at the rate
  /// of fp8 that power sustains. Its start stays.
  DurationNs InEightBits(DurationNs now, DType half) const {
    const DeviceSpec& device = *job_.device();
    const double share = std::min(1.0, *PeakOf(half) * device.sustained.gemm_16 /
                                           (*recipe_.tflops * device.sustained.gemm_8));
    return WithWork(now, share);
  }

  double ConversionNs(double elements) const {
    if (elements == 0) return 0;
    constexpr double kHalfBytes = 2, kBothOrders = 2;
    const DeviceSpec& device = *job_.device();
    double ns = static_cast<double>(
        MemoryPassTime(elements * (kHalfBytes + kBothOrders * recipe_.operand_bytes), device).ns());
    if (recipe_.has_amax_pass)
      ns += static_cast<double>(MemoryPassTime(elements * kHalfBytes, device).ns());
    return ns;
  }

  const Job& job_;
  const Recipe recipe_;
  const Edit& edit_;
  std::map<HostEventId, EightBitLayer> layers_;
  std::int64_t in_half_ = 0;
};

Effect NoEightBits(const Job& job, std::int64_t in_half, std::int64_t extent) {
  if (in_half > 0) {
    return Effect::Nothing(
        fmt::format("no linear layer in 16 bits has extents that are multiples of {}", extent));
  }
  if (HasAny(job, [&](const LaunchingOperator& op) {
        const OperatorCost* cost = job.CostOf(op.op);
        return cost != nullptr && cost->math_dtype == DType::kF8;
      }))
    return Effect::Already("the matrix products run in fp8");
  const bool any = HasAny(job, [&](const LaunchingOperator& op) { return IsLinear(job, op); });
  return NotFound(job,
                  any ? "the linear layers do not run in fp16 or bf16; amp+fp8 changes both"
                      : "the job has no linear layers",
                  {"linear layers", [&](const LaunchingOperator& op) {
                     return IsOfFamily(job, op, WorkFamily::kMatmul) && !IsLinear(job, op);
                   }});
}

/// Runs a layer's products in fp8, with their conversions before them.
void Convert(const Job& job, const EightBitLayer& layer, bool has_amax_pass, Edit& edit) {
  for (const EightBitProduct& product : layer.products) {
    const TaskIndex first = product.tasks.front();
    DurationNs now{0};
    for (const TaskIndex task : product.tasks) now += edit.DurationOf(task);
    const double ratio =
        static_cast<double>(product.time.ns()) / std::max(1.0, static_cast<double>(now.ns()));
    for (const TaskIndex task : product.tasks) edit.Scale(task, ratio);
    edit.SetPrecision(first, Precision::kF8);
    if (product.converted == 0 || job.LaunchOf(first) == kNoTask) continue;
    // Forward: input and weight; backward: the gradient of the output.
    const bool backward = job.ContextOf(first).phase == Phase::kBackward;
    const int kernels = (backward ? 1 : 2) * (has_amax_pass ? 2 : 1);
    for (int i = 0; i < kernels; ++i) {
      Edit::NewKernel kernel =
          KernelBefore(job, first, DurationNs(std::llround(product.conversion_ns / kernels)));
      kernel.per_sample = backward || i % 2 == 0;
      edit.Insert(kernel);
    }
  }
}

}  // namespace

Effect ApplyFp8(const Job& job, const Arguments& arguments, Edit& edit) {
  const DeviceSpec* device = job.device();
  if (device == nullptr || !device->memory_bandwidth_gbs)
    return Effect::Abstain(WhyNoFigure(job, "memory bandwidth"));
  const Recipe recipe = RecipeOf(arguments, *device);
  if (!recipe.tflops) {
    return Effect::Abstain(
        fmt::format("{} has no tensor cores for {}", device->short_name, recipe.type));
  }
  const EightBitLayers found(job, recipe, edit);
  if (found.layers().empty()) return NoEightBits(job, found.in_half(), recipe.extent);
  std::int64_t converted = 0;
  for (const auto& [forward, layer] : found.layers()) {
    if (layer.SavedNs() <= 0) continue;
    ++converted;
    Convert(job, layer, recipe.has_amax_pass, edit);
  }
  const double steps = job.graph().steps;
  const auto all = static_cast<double>(found.layers().size()) / steps;
  const double in_eight = static_cast<double>(converted) / steps;
  if (converted == 0) {
    return Effect::Nothing(
        fmt::format("all {:.3g} linear layers are too small: converting operands takes more time "
                    "than fp8 saves",
                    all));
  }
  Effect effect;
  if (in_eight < all) {
    effect.why = fmt::format(
        "{:.3g} of {:.3g} linear layers run in {}; in the others, converting operands takes "
        "longer than the products gain",
        in_eight, all, recipe.type);
  } else {
    effect.why = fmt::format("all {:.3g} linear layers run in {}", all, recipe.type);
  }
  effect.gpu_error = recipe.error;
  return effect;
}

}  // namespace headroom
