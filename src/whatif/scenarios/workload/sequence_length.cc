// sequence-length: another number of tokens per sample, with the same samples. Work per token
// follows the model of batch-size. In attention, each token attends to all tokens, so the work on
// scores grows with the square of the length: the products, masks, softmax and dropout of unfused
// attention, and the main kernels of fused attention (cost/attention_cost.cc).
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "cost/operator_args.h"
#include "cost/operator_cost.h"
#include "render/number_format.h"
#include "whatif/job/attention.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"
#include "whatif/scenarios/workload/batch_size.h"

namespace headroom {
namespace {

/// A fused operator also launches helper kernels, whose work grows with the tokens. Its kernels
/// with at least this share of the longest one's time multiply queries and keys.
constexpr double kMinMainShare = 0.5;

/// The attention of a job.
struct RecordedAttention {
  std::set<std::int64_t> lengths;       ///< Distinct numbers of queries.
  bool has_other_keys = false;          ///< True if the number of keys differs from the queries.
  bool has_packed = false;              ///< True if lengths of packed sequences are unknown.
  bool writes_scores = false;           ///< True if unfused attention remains in the edit.
  std::unordered_set<TaskIndex> tasks;  ///< GPU tasks whose work grows with the scores.
};

bool IsFusedAttention(const Job& job, const LaunchingOperator& op) {
  return FamilyOfOperator(NameOfOperator(job, op.op)) == WorkFamily::kAttention;
}

/// Returns true if a task of unfused attention works on scores, rather than on queries, keys or
/// values.
bool WorksOnScores(const Job& job, TaskIndex task, const AttentionShape& shape) {
  const HostContext& context = job.ContextOf(task);
  const HostEventId op = context.costed.valid() ? context.costed : context.op;
  const OperatorCall* call = op.valid() ? job.CallOf(op) : nullptr;
  if (call == nullptr) return false;
  if (GemmShapeOf(*call)) return true;
  for (const TensorArg* tensor : SingleTensors(*call)) {
    const std::size_t rank = tensor->dims.size();
    if (rank >= 3 && static_cast<double>(tensor->dims[rank - 2]) == shape.queries &&
        static_cast<double>(tensor->dims[rank - 1]) == shape.keys)
      return true;
  }
  return false;
}

void AddUnfused(const Job& job, const Edit& edit, RecordedAttention& attention) {
  for (const EagerAttention& eager : FindEagerAttention(job)) {
    attention.lengths.insert(static_cast<std::int64_t>(eager.shape.queries));
    attention.has_other_keys |= eager.shape.queries != eager.shape.keys;
    attention.writes_scores |= !IsReplaced(eager.forward, edit);
    for (const auto* tasks : {&eager.forward, &eager.backward}) {
      for (const TaskIndex task : *tasks) {
        if (edit.IsRemoved(task)) continue;
        // With flash-attention applied first, one kernel has the work of the whole pass.
        if (edit.HasOtherWork(task) || WorksOnScores(job, task, eager.shape))
          attention.tasks.insert(task);
      }
    }
  }
}

void AddFused(const Job& job, const Edit& edit, RecordedAttention& attention) {
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    const OperatorCall* call = IsFusedAttention(job, op) ? job.CallOf(op.op) : nullptr;
    if (call == nullptr) continue;
    const std::optional<AttentionLengths> lengths = AttentionLengthsOf(*call);
    if (!lengths) {
      attention.has_packed = true;
      continue;
    }
    attention.lengths.insert(lengths->queries);
    attention.has_other_keys |= lengths->queries != lengths->keys;
    DurationNs longest;
    for (const TaskIndex task : op.tasks) longest = std::max(longest, edit.DurationOf(task));
    for (const TaskIndex task : op.tasks) {
      if (!edit.IsRemoved(task) && static_cast<double>(edit.DurationOf(task).ns()) >=
                                       kMinMainShare * static_cast<double>(longest.ns()))
        attention.tasks.insert(task);
    }
  }
}

/// Returns the tokens per sample that embeddings of the forward read: the last extents of their
/// indices [samples, tokens].
std::set<std::int64_t> EmbeddedLengths(const Job& job) {
  std::set<std::int64_t> lengths;
  for (std::size_t row = 0; row < job.store().host_events.rows(); ++row) {
    const HostEventId event(row);
    if (NameOfOperator(job, event) != "aten::embedding" ||
        job.attribution().Of(event).phase == Phase::kBackward)
      continue;
    const OperatorCall* call = job.CallOf(event);
    const TensorArg* indices = call == nullptr ? nullptr : TensorAt(*call, 1);
    if (indices != nullptr && indices->dims.size() == 2) lengths.insert(indices->dims[1]);
  }
  return lengths;
}

std::string JoinedLengths(const std::set<std::int64_t>& lengths) {
  std::string text;
  for (const std::int64_t length : lengths)
    text += (text.empty() ? "" : " and ") + FormatCount(length);
  return text;
}

/// Returns the reason why the recorded length is unknown; "" if the attention and the embeddings
/// agree on one.
std::string WhyNoLength(const Job& job, const RecordedAttention& attention) {
  if (attention.has_packed)
    return "the attention runs over packed sequences, whose lengths were not recorded";
  if (attention.lengths.empty()) {
    return WhyNotFound(job, "the job has no attention",
                       {"batched products and fused attention", [&](const LaunchingOperator& op) {
                          return IsFusedAttention(job, op) ||
                                 NameOfOperator(job, op.op).find("bmm") != std::string_view::npos;
                        }});
  }
  if (attention.lengths.size() > 1) {
    return fmt::format("the length is ambiguous: the attention runs over {} tokens",
                       JoinedLengths(attention.lengths));
  }
  if (attention.has_other_keys)
    return "the length is ambiguous: queries and keys of the attention differ in number";
  const std::set<std::int64_t> embedded = EmbeddedLengths(job);
  if (embedded.empty() || embedded.contains(*attention.lengths.begin())) return {};
  return fmt::format(
      "the length is ambiguous: the embedding reads {} tokens per sample, the attention {}",
      JoinedLengths(embedded), JoinedLengths(attention.lengths));
}

/// Scales the work on scores from the growth of the tokens to its square.
void ScaleScores(const Job& job, const RecordedAttention& attention, double ratio, Edit& edit) {
  for (const TaskIndex task : attention.tasks) {
    if (edit.HasOtherWork(task) || MultipliesMatrices(job.ClassOf(task).family)) {
      edit.Scale(task, ratio);
    } else {
      edit.SetDuration(task, WithWork(edit.DurationOf(task), ratio));
    }
  }
  // Casts before such a task read scores.
  for (Edit::NewKernel& kernel : edit.inserted()) {
    if (kernel.per_sample && attention.tasks.contains(kernel.before_task))
      kernel.duration = WithWork(kernel.duration, ratio);
  }
}

}  // namespace

Effect ApplySequenceLength(const Job& job, const Arguments& arguments, Edit& edit) {
  RecordedAttention attention;
  AddUnfused(job, edit, attention);
  AddFused(job, edit, attention);
  if (const std::string why = WhyNoLength(job, attention); !why.empty())
    return Effect::Abstain(why);
  const std::int64_t before = *attention.lengths.begin();
  const double ratio = arguments.Number("n") / static_cast<double>(before);
  const DoubtfulAtBatch doubtful = ScaleToBatch(job, job.device(), ratio, edit);
  ScaleScores(job, attention, ratio, edit);
  Effect effect;
  effect.why = fmt::format(
      "{} per sample instead of {}; attention scores grow with the square of the length; work and "
      "throughput count tokens",
      Plural(static_cast<std::int64_t>(arguments.Number("n")), "token"), FormatCount(before));
  if (ratio > 1) effect.AlsoBecause("excludes the parameters of further learned positions");
  // The memory model has no tensors that grow with the square.
  if (ratio == 1 || !attention.writes_scores) effect.memory_delta_bytes = 0;
  effect.memory_change.batch_ratio = ratio;
  // The half-width of a batch that grows as much as the scores.
  effect.gpu_error = ErrorAtBatch(doubtful, ratio * ratio);
  effect.work = effect.sample_work = ratio;
  return effect;
}

}  // namespace headroom
