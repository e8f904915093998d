// vocabulary-padding: rounds the vocabulary up to a multiple. Tensor cores read rows in 16 bytes,
// so the head's products (forward and both gradients) run several times slower if a row over the
// vocabulary has another length. The model of kernels/tensor_core_gemm.h has this loss, measured on
// one H200. A recorded product changes by the model's ratio of the padded to the recorded shape.
// Other kernels on tensors over the vocabulary grow with it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "cost/operator_args.h"
#include "cost/operator_cost.h"
#include "cost/roofline.h"
#include "kernels/tensor_core_gemm.h"
#include "render/number_format.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/precision/tensor_cores.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Half-width of the changed times. In traces of GPT-2 on one H200, the head's products take 0.9 to
/// 1.5 times the model's time without alignment, so the ratio may be off by as much.
constexpr double kPaddingError = 0.35;
/// A smaller extent may belong to a classifier.
constexpr std::int64_t kMinVocabulary = 1'001;

/// Returns the rows of the largest embedding; without one, the most columns of a product's result
/// in the forward. Returns nullopt if both are too small.
std::optional<std::int64_t> VocabularyOf(const Job& job) {
  std::int64_t rows = 0, columns = 0;
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    if (job.ContextOf(op.tasks.front()).phase == Phase::kBackward) continue;
    const OperatorCall* call = job.CallOf(op.op);
    const std::optional<GemmShape> shape =
        call == nullptr ? std::optional<GemmShape>() : GemmShapeOf(*call);
    if (shape && shape->batch == 1) columns = std::max(columns, shape->n);
    // The lookup may run inside the embedding.
    for (HostEventId event = op.op; event.valid();
         event = job.store().host_events.parent[event.index()]) {
      if (NameOfOperator(job, event) != "aten::embedding") continue;
      const OperatorCall* embedding = job.CallOf(event);
      const TensorArg* weight = embedding == nullptr ? nullptr : TensorAt(*embedding, 0);
      if (weight != nullptr && weight->dims.size() == 2) rows = std::max(rows, weight->dims[0]);
    }
  }
  if (rows >= kMinVocabulary) return rows;
  return columns >= kMinVocabulary ? std::optional(columns) : std::nullopt;
}

/// A product of the output layer or of one of its gradients.
struct HeadProduct {
  LaunchingOperator op;
  GemmShape shape;
};

std::vector<HeadProduct> FindHeadProducts(const Job& job, std::int64_t vocabulary) {
  std::vector<HeadProduct> found;
  for (LaunchingOperator& op : LaunchingOperators(job)) {
    const OperatorCall* call = job.CallOf(op.op);
    const std::optional<GemmShape> shape =
        call == nullptr ? std::optional<GemmShape>() : GemmShapeOf(*call);
    if (!shape || shape->batch != 1) continue;
    if (shape->m == vocabulary || shape->n == vocabulary || shape->k == vocabulary)
      found.push_back({.op = std::move(op), .shape = *shape});
  }
  return found;
}

GemmShape Padded(GemmShape shape, std::int64_t vocabulary, std::int64_t padded) {
  for (std::int64_t* extent : {&shape.m, &shape.n, &shape.k}) {
    if (*extent == vocabulary) *extent = padded;
  }
  return shape;
}

/// Returns the type in which a product runs on tensor cores in the edit; nullopt without tensor
/// cores.
std::optional<DType> TensorCoreTypeOf(const Job& job, const LaunchingOperator& op,
                                      const Edit& edit) {
  if (const std::optional<Precision> changed = edit.PrecisionOf(op.tasks.front())) {
    return TypeOf(*changed);
  }
  const OperatorCost* cost = job.CostOf(op.op);
  DType dtype = cost == nullptr ? DType::kUnknown : cost->math_dtype;
  bool tensor_cores = false;
  for (const TaskIndex task : op.tasks) {
    tensor_cores |= job.ClassOf(task).tensor_cores == TensorCoreUse::kYes;
    dtype = ResolveMathDType(dtype, job.ClassOf(task));
  }
  return tensor_cores ? std::optional(dtype) : std::nullopt;
}

/// Returns true for operators that read or write only some rows or columns of the vocabulary.
bool ReadsPart(std::string_view name) {
  constexpr std::array<std::string_view, 5> kParts = {"aten::embedding", "aten::index_select",
                                                      "aten::gather", "aten::nll_loss_forward",
                                                      "aten::nll_loss_backward"};
  return std::find(kParts.begin(), kParts.end(), name) != kParts.end();
}

/// Scales all tasks on tensors over the vocabulary except products.
void GrowOthers(const Job& job, std::int64_t vocabulary, double growth, Edit& edit) {
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    const OperatorCall* call = job.CallOf(op.op);
    if (call == nullptr || GemmShapeOf(*call) || ReadsPart(call->name)) continue;
    const std::vector<const TensorArg*> tensors = SingleTensors(*call);
    const bool is_over = std::any_of(tensors.begin(), tensors.end(), [&](const TensorArg* tensor) {
      return std::find(tensor->dims.begin(), tensor->dims.end(), vocabulary) != tensor->dims.end();
    });
    if (!is_over) continue;
    for (const TaskIndex task : op.tasks) {
      if (!edit.IsRemoved(task)) edit.SetDuration(task, WithWork(edit.DurationOf(task), growth));
    }
  }
}

/// Counts of the head's products.
struct PaddedProducts {
  std::int64_t aligned = 0;       ///< Became aligned.
  std::int64_t already = 0;       ///< Were aligned or stay misaligned.
  std::int64_t unknown = 0;       ///< Have no modelled time.
  std::int64_t vector_units = 0;  ///< Run without tensor cores.
};

/// Scales the head's products by the model.
PaddedProducts PadProducts(const Job& job, const std::vector<HeadProduct>& products,
                           std::int64_t vocabulary, std::int64_t padded, Edit& edit) {
  PaddedProducts counts;
  std::vector<std::pair<const LaunchingOperator*, double>> ratios;
  for (const auto& [op, shape] : products) {
    if (IsReplaced(op.tasks, edit)) continue;
    const std::optional<DType> dtype = TensorCoreTypeOf(job, op, edit);
    if (!dtype) {
      ++counts.vector_units;
      continue;
    }
    const OperatorCall& call = *job.CallOf(op.op);
    const GemmShape wide = Padded(shape, vocabulary, padded);
    const GemmLayout before = LayoutOf(call, shape, *dtype), after = LayoutOf(call, wide, *dtype);
    const auto now = TensorCoreGemmTime(shape, before, *dtype, *job.device());
    const auto then = TensorCoreGemmTime(wide, after, *dtype, *job.device());
    if (!now || !then || now->ns() <= 0) {
      ++counts.unknown;
      continue;
    }
    ++(!before.aligned && after.aligned ? counts.aligned : counts.already);
    const double ratio = static_cast<double>(then->ns()) / static_cast<double>(now->ns());
    ratios.emplace_back(&op, ratio);
  }
  if (counts.aligned == 0) return counts;
  for (const auto& [op, ratio] : ratios) {
    for (const TaskIndex task : op->tasks) {
      if (!edit.IsRemoved(task)) edit.Scale(task, ratio);
    }
  }
  return counts;
}

std::string WhyNotPadded(const PaddedProducts& counts, std::int64_t vocabulary,
                         std::int64_t padded) {
  if (counts.vector_units > 0) {
    return "the products over the vocabulary run without tensor cores, so alignment changes "
           "nothing; combine it with amp or tf32";
  }
  if (counts.unknown > 0)
    return "the time of products on tensor cores is unknown for this type or GPU";
  return fmt::format(
      "padding from {} to {} makes no row of the products begin at a multiple of 16 bytes that did "
      "not before",
      FormatCount(vocabulary), FormatCount(padded));
}

}  // namespace

Effect ApplyVocabularyPadding(const Job& job, const Arguments& arguments, Edit& edit) {
  if (job.device() == nullptr) return Effect::Abstain(WhyNoDevice(job));
  const Wanted wanted = {"matrix products",
                         [&](const LaunchingOperator& op) { return IsProduct(job, op); }};
  const std::optional<std::int64_t> vocabulary = VocabularyOf(job);
  if (!vocabulary) return NotFound(job, "the job has no vocabulary above 1,000 entries", wanted);
  const auto multiple = static_cast<std::int64_t>(arguments.Number("to"));
  const std::int64_t padded = (*vocabulary + multiple - 1) / multiple * multiple;
  if (padded == *vocabulary) {
    return Effect::Already(fmt::format("the vocabulary of {} is a multiple of {}",
                                       FormatCount(*vocabulary), FormatCount(multiple)));
  }
  const std::vector<HeadProduct> products = FindHeadProducts(job, *vocabulary);
  if (products.empty()) {
    return NotFound(job,
                    fmt::format("no matrix product has the vocabulary's extent of {}",
                                FormatCount(*vocabulary)),
                    wanted);
  }
  const PaddedProducts counts = PadProducts(job, products, *vocabulary, padded, edit);
  if (counts.aligned == 0) {
    const std::string why = WhyNotPadded(counts, *vocabulary, padded);
    return counts.unknown > 0 ? Effect::Abstain(why) : Effect::Nothing(why);
  }
  GrowOthers(job, *vocabulary, static_cast<double>(padded) / static_cast<double>(*vocabulary),
             edit);
  Effect effect;
  effect.why = fmt::format(
      "padding from {} to {} aligns {:.3g} products per step, whose times change as in a model of "
      "tensor cores",
      FormatCount(*vocabulary), FormatCount(padded),
      static_cast<double>(counts.aligned) / job.graph().steps);
  effect.gpu_error = kPaddingError;
  return effect;
}

}  // namespace headroom
