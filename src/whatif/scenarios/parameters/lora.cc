// lora: low-rank adapters. All recorded parameters are frozen. Each Linear layer with a weight W of
// k x n, except the last one (the head), gets two trained matrices: y = x W + (x A) B, with A of
// k x r and B of r x n. The backward still computes the gradients of all inputs. The adapters add:
// - forward: x A, (x A) B, and an addition
// - backward: the gradients of B, x A, A and x, and an addition
// Small ranks make these kernels memory-bound, and each has its launch, so a host-bound job may
// become slower.
//
// Source: Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models" (ICLR 2022).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "cost/roofline.h"
#include "kernels/kernel_model.h"
#include "kernels/tensor_core_time.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/parameters/frozen_parameters.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Half-width of the adapters' kernels. Assumed: no measurement covers products this narrow.
constexpr double kLoraError = 0.3;

/// An addition reads two tensors and writes one.
constexpr double kAdditionPasses = 3;

/// A layer that gets an adapter.
struct AdaptedLayer {
  LaunchingOperator op;                ///< Product of the forward.
  GemmShape shape;                     ///< Tokens m, inputs k, outputs n.
  HostEventId accumulate;              ///< Completes the gradient of its weight.
  DType dtype = DType::kUnknown;       ///< Type of its arithmetic.
  TaskIndex after_backward = kNoTask;  ///< Last task of its backward.
  bool needs_input_gradient = false;
};

/// One product of an adapter.
struct AdapterProduct {
  std::int64_t m = 0, k = 0, n = 0;
  GemmLayout layout;
};

/// Returns the type in which an operator computes.
DType TypeOfArithmetic(const Job& job, const LaunchingOperator& op, const Edit& edit) {
  if (const std::optional<Precision> changed = edit.PrecisionOf(op.tasks.front())) {
    return *changed == Precision::kTF32   ? DType::kTF32
           : *changed == Precision::kBF16 ? DType::kBF16
                                          : DType::kF16;
  }
  const TaskIndex longest = *std::max_element(
      op.tasks.begin(), op.tasks.end(),
      [&](TaskIndex a, TaskIndex b) { return edit.DurationOf(a) < edit.DurationOf(b); });
  return ResolveMathDType(job.CostOf(op.op)->math_dtype, job.ClassOf(longest));
}

double BytesOfElement(DType dtype) {
  return BytesPerElement(dtype == DType::kTF32 ? DType::kF32 : dtype);
}

/// Returns nullopt if the device lacks figures for the type.
std::optional<DurationNs> TimeOfProduct(const Job& job, AdapterProduct product, DType dtype) {
  if (dtype == DType::kF32) {
    if (job.rates() == nullptr) return std::nullopt;
    const ProductWork work{.m = static_cast<double>(product.m),
                           .k = static_cast<double>(product.k),
                           .n = static_cast<double>(product.n),
                           .first_along_k = !product.layout.transposed_first,
                           .second_along_k = product.layout.transposed_second};
    const std::optional<double> ns = KernelNs({work, dtype}, *job.rates(), job.kernel_constants());
    return ns ? std::optional(Nanoseconds(*ns)) : std::nullopt;
  }
  constexpr std::int64_t kAlignment = 16;
  const auto bytes = static_cast<std::int64_t>(BytesOfElement(dtype));
  for (const std::int64_t extent : {product.m, product.k, product.n})
    product.layout.aligned &= extent * bytes % kAlignment == 0;
  return TensorCoreGemmTime({.m = product.m, .n = product.n, .k = product.k, .dtype = dtype},
                            product.layout, dtype, *job.device());
}

/// Returns the layers that get adapters, in order of the forward.
std::vector<AdaptedLayer> FindAdaptedLayers(const Job& job,
                                            const std::vector<TrainedParameter>& parameters,
                                            std::int64_t rank, const Edit& edit) {
  // Each layer counts once, even if it has a bias.
  std::map<HostEventId, AdaptedLayer> layers;
  for (LaunchingOperator& op : LaunchingOperators(job)) {
    const OperatorCall* call = job.CallOf(op.op);
    const std::optional<GemmShape> shape = call ? GemmShapeOf(*call) : std::nullopt;
    if (!shape || shape->batch != 1 || job.ContextOf(op.tasks.front()).phase != Phase::kForward)
      continue;
    const HostEventId layer = op.op;
    layers[layer] = {.op = std::move(op), .shape = *shape};
  }
  std::map<HostEventId, TaskIndex> last_of_backward;
  std::map<HostEventId, std::int64_t> products;
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    const HostContext& context = job.ContextOf(op.tasks.front());
    if (context.phase != Phase::kBackward || !context.forward.valid() || context.recomputed)
      continue;
    TaskIndex& last = last_of_backward.try_emplace(context.forward, 0).first->second;
    last = std::max(last, op.tasks.back());
    const OperatorCall* call = job.CallOf(op.op);
    products[context.forward] += call && GemmShapeOf(*call) ? 1 : 0;
  }
  std::map<std::int32_t, std::vector<AdaptedLayer>> of_step;
  for (const TrainedParameter& parameter : parameters) {
    if (edit.IsSkipped(parameter.accumulate)) continue;
    for (const HostEventId user : parameter.users) {
      auto layer = layers.extract(user);
      if (layer.empty()) continue;
      AdaptedLayer& adapted = layer.mapped();
      adapted.accumulate = parameter.accumulate;
      adapted.dtype = TypeOfArithmetic(job, adapted.op, edit);
      adapted.after_backward = last_of_backward[user];
      adapted.needs_input_gradient = products[user] > 1;
      of_step[job.graph().tasks[adapted.op.tasks.front()].step].push_back(std::move(adapted));
    }
  }
  std::vector<AdaptedLayer> found;
  for (auto& [step, adapted] : of_step) {
    std::sort(adapted.begin(), adapted.end(), [](const AdaptedLayer& a, const AdaptedLayer& b) {
      return a.op.tasks.front() < b.op.tasks.front();
    });
    adapted.pop_back();  // The head.
    for (AdaptedLayer& layer : adapted) {
      if (rank < std::min(layer.shape.k, layer.shape.n)) found.push_back(std::move(layer));
    }
  }
  return found;
}

class Adapters {
 public:
  Adapters(const Job& job, std::int64_t rank, Edit& edit) : job_(job), rank_(rank), edit_(edit) {}

  /// Returns false if the device lacks figures for the layer's type.
  bool Add(const AdaptedLayer& layer) {
    const auto& [batch, m, n, k, dtype] = layer.shape;
    const std::int64_t r = rank_;
    const GemmLayout plain, weight{.transposed_second = true}, gradient{.transposed_first = true};
    std::vector<AdapterProduct> backward = {
        {n, m, r, gradient}, {m, n, r, plain}, {r, m, k, gradient}};
    if (layer.needs_input_gradient) backward.push_back({m, r, k, plain});
    return Insert(layer, NextOnStream(job_, layer.op.tasks.back()),
                  {{m, k, r, weight}, {m, r, n, weight}}, static_cast<double>(m * n)) &&
           Insert(layer, NextOnStream(job_, layer.after_backward), backward,
                  layer.needs_input_gradient ? static_cast<double>(m * k) : 0);
  }

 private:
  /// Inserts products and an addition of this many elements.
  bool Insert(const AdaptedLayer& layer, TaskIndex before,
              const std::vector<AdapterProduct>& products, double added) {
    if (before == kNoTask) return true;
    for (const AdapterProduct& product : products) {
      const std::optional<DurationNs> time = TimeOfProduct(job_, product, layer.dtype);
      if (!time) return false;
      InsertKernel(before, *time);
    }
    if (added > 0)
      InsertKernel(before, MemoryPassTime(kAdditionPasses * added * BytesOfElement(layer.dtype),
                                          *job_.device()));
    return true;
  }

  void InsertKernel(TaskIndex before, DurationNs time) {
    Edit::NewKernel kernel = KernelBefore(job_, before, time);
    kernel.per_sample = true;
    edit_.Insert(kernel);
  }

  const Job& job_;
  const std::int64_t rank_;
  Edit& edit_;
};

}  // namespace

Effect ApplyLora(const Job& job, const Arguments& arguments, Edit& edit) {
  if (job.device() == nullptr || !job.device()->memory_bandwidth_gbs)
    return Effect::Abstain(WhyNoFigure(job, "memory bandwidth"));
  const std::vector<TrainedParameter> parameters = FindTrainedParameters(job);
  if (const std::optional<std::string> why = WhyNotFrozen(job, parameters))
    return Effect::Abstain(*why);
  const auto rank = static_cast<std::int64_t>(arguments.Number("rank"));
  const std::vector<AdaptedLayer> layers = FindAdaptedLayers(job, parameters, rank, edit);
  if (layers.empty()) {
    return Effect::Abstain(WhyNotFound(
        job,
        fmt::format("no Linear layer, besides the head, has inputs and outputs above rank {}",
                    rank),
        {"matrix products",
         [&](const LaunchingOperator& op) { return IsOfFamily(job, op, WorkFamily::kMatmul); }}));
  }
  const Frozen frozen =
      FreezeParameters(job, parameters, std::vector<bool>(parameters.size(), true), false, edit);
  Adapters adapters(job, rank, edit);
  double elements = 0, bytes = 0;
  for (const AdaptedLayer& layer : layers) {
    if (!adapters.Add(layer))
      return Effect::Abstain("the time of the adapters' products is unknown on this GPU");
    const auto added = static_cast<double>(rank * (layer.shape.k + layer.shape.n));
    edit.ReplaceGradient(layer.accumulate, added * BytesPerElement(DType::kF32));
    elements += added;
  }
  constexpr double kPerLayer = 2;
  double all = 0;
  for (const TrainedParameter& parameter : parameters) all += parameter.bytes;
  bytes = elements * BytesPerElement(DType::kF32);
  const std::string_view unchanged = ShrinkUpdates(
      job, bytes / all,
      kPerLayer * static_cast<double>(layers.size()) / static_cast<double>(parameters.size()),
      edit);
  ShrinkClipping(job, bytes / all, edit);
  const auto steps = static_cast<double>(std::max(1, job.graph().steps));
  Effect effect;
  effect.why = fmt::format(
      "{:.3g} Linear layers per step get adapters with {:.3g} million parameters; all others are "
      "frozen",
      static_cast<double>(layers.size()) / steps, elements / steps / 1e6);
  if (frozen.unknown > 0)
    effect.AlsoBecause("at least: some gradients' kernels are unknown and keep their time");
  if (!unchanged.empty()) effect.AlsoBecause(unchanged);
  effect.gpu_error = kLoraError;
  if (const std::optional<TrainingBytes> training = TrainingBytesOf(job);
      training && training->parameters > 0) {
    const double state = training->optimizer_state / training->parameters;
    effect.memory_delta_bytes =
        std::llround(bytes / steps * (2 + state) - training->gradients - training->optimizer_state);
  }
  return effect;
}

}  // namespace headroom
