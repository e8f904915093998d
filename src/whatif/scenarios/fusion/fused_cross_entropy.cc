// fused-cross-entropy: one kernel computes the loss and the gradient of the logits. It replaces
// log_softmax, nll_loss, their backward, and the casts of logits around them. It reads the logits
// from memory once and writes their gradient in place, both in the type of the logits (Hsu et al.,
// "Liger Kernel: Efficient Triton Kernels for LLM Training", 2024, section 3.2). A second read of a
// row comes from the L2. The model leaves out a further pass for a scaled loss (fp16). Cut Cross
// Entropy (Wijmans et al., 2024) also fuses the product before the loss.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/operator_args.h"
#include "cost/operator_cost.h"
#include "render/number_format.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Half-width of the kernel's time. On one H200, kernels of the unfused loss move their bytes at 43
/// to 97 % of the bandwidth; the model assumes 67 % for the fused one.
constexpr double kCrossEntropyError = 0.4;
/// Accesses of the fused kernel to the logits: it reads them and writes their gradient.
constexpr double kLogitPasses = 2;
/// Maximum number of operators between log_softmax and nll_loss, or a cast.
constexpr std::size_t kMaxAroundLoss = 4;

/// One loss of the forward, with its backward.
struct CrossEntropy {
  TaskIndex kernel = kNoTask;     ///< The task of log_softmax, which becomes the fused kernel.
  double logits = 0;              ///< Number of logits.
  DType dtype = DType::kUnknown;  ///< Type of the logits before casts.
  bool has_copy = false;          ///< True if a cast writes a float32 copy of the logits.
  bool has_backward = false;
  std::vector<TaskIndex> others;  ///< All other tasks.
};

bool Is16Bits(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16; }

double BytesOfLogits(const CrossEntropy& loss, DType dtype) {
  return loss.logits * (Is16Bits(dtype) ? 2 : 4);
}

class CrossEntropyFinder {
 public:
  explicit CrossEntropyFinder(const Job& job) : job_(job) {}

  /// Returns the losses with a backward.
  std::vector<CrossEntropy> Find() {
    for (LaunchingOperator& op : LaunchingOperators(job_)) {
      const Phase phase = job_.ContextOf(op.tasks.front()).phase;
      if (phase == Phase::kOptimizer) continue;
      (phase == Phase::kBackward ? backward_ : forward_).push_back(std::move(op));
    }
    for (std::size_t i = 0; i < forward_.size(); ++i) MatchFrom(i);
    AddTasks();
    std::vector<CrossEntropy> trained;
    std::copy_if(losses_.begin(), losses_.end(), std::back_inserter(trained),
                 [](const CrossEntropy& loss) { return loss.has_backward; });
    return trained;
  }

  bool HasForward() const { return !losses_.empty(); }

  /// Returns a flag per row of host events: true for events of the losses with a backward.
  std::vector<bool> HostEvents() const {
    std::vector<bool> events(job_.store().host_events.rows());
    for (const auto& [first, rows] : loss_at_) {
      for (std::uint32_t row = first; row < rows.first; ++row)
        events[row] = losses_[rows.second].has_backward;
    }
    for (std::size_t row = 0; row < events.size(); ++row) {
      const HostContext& context = job_.attribution().Of(HostEventId(row));
      if (context.phase == Phase::kBackward && LossAround(context.forward) != nullptr)
        events[row] = true;
    }
    return events;
  }

 private:
  std::string_view NameAt(std::size_t i) const { return NameOfOperator(job_, forward_[i].op); }

  /// Returns the shape of the first tensor of an operator of the forward; nullptr if unknown.
  const TensorArg* TensorOf(std::size_t i) const {
    const OperatorCall* call = job_.CallOf(forward_[i].op);
    return call == nullptr ? nullptr : FirstTensor(*call);
  }

  /// Matches a log_softmax with the nll_loss after it and a cast before it.
  void MatchFrom(std::size_t i) {
    const TensorArg* logits = NameAt(i) == "aten::_log_softmax" ? TensorOf(i) : nullptr;
    if (logits == nullptr || logits->dims.size() < 2) return;
    const std::size_t end = std::min(forward_.size(), i + 2 + kMaxAroundLoss);
    std::size_t loss = i + 1;
    while (loss < end && !NameAt(loss).starts_with("aten::nll_loss")) ++loss;
    const TensorArg* read = loss < end ? TensorOf(loss) : nullptr;
    if (read == nullptr || read->dims != logits->dims) return;
    CrossEntropy found{.kernel = forward_[i].tasks.front(),
                       .logits = ElementsOf(*logits),
                       .dtype = logits->dtype,
                       .others = {}};
    AddRows(forward_[i].op);
    AddRows(forward_[loss].op);
    AddCastBefore(i, logits->dims.back(), found);
    losses_.push_back(std::move(found));
  }

  void AddCastBefore(std::size_t i, std::int64_t vocabulary, CrossEntropy& loss) {
    for (std::size_t between = 0; between <= kMaxAroundLoss && i-- > 0; ++between) {
      const OperatorCall* call = job_.CallOf(forward_[i].op);
      if (call == nullptr || GemmShapeOf(*call)) return;
      const TensorArg* to = TensorAt(*call, 0);
      const TensorArg* from = TensorAt(*call, 1);
      if (call->name != "aten::copy_" || to == nullptr || from == nullptr || to->dims.empty())
        continue;
      // A model may drop the last token's logits after their cast.
      if (to->dtype != DType::kF32 || !Is16Bits(from->dtype) || to->dims.back() != vocabulary ||
          ElementsOf(*to) < loss.logits)
        continue;
      loss.dtype = from->dtype;
      loss.has_copy = true;
      AddRows(forward_[i].op);
      return;
    }
  }

  /// Adds the rows of an operator to the loss that the finder matches.
  void AddRows(HostEventId op) {
    const HostEventId outer = OutermostOperator(job_, op);
    loss_at_[static_cast<std::uint32_t>(outer.index())] = {EndRow(job_, outer), losses_.size()};
  }

  const std::size_t* LossAround(HostEventId event) const {
    if (!event.valid()) return nullptr;
    const auto row = static_cast<std::uint32_t>(event.index());
    auto after = loss_at_.upper_bound(row);
    if (after == loss_at_.begin()) return nullptr;
    --after;
    return row < after->second.first ? &after->second.second : nullptr;
  }

  void AddTasks() {
    for (const LaunchingOperator& op : forward_) {
      if (const std::size_t* loss = LossAround(op.op)) AddOthers(op, losses_[*loss]);
    }
    for (const LaunchingOperator& op : backward_) {
      const std::size_t* loss = LossAround(job_.ContextOf(op.tasks.front()).forward);
      if (loss == nullptr) continue;
      losses_[*loss].has_backward = true;
      AddOthers(op, losses_[*loss]);
    }
  }

  static void AddOthers(const LaunchingOperator& op, CrossEntropy& loss) {
    std::copy_if(op.tasks.begin(), op.tasks.end(), std::back_inserter(loss.others),
                 [&](TaskIndex task) { return task != loss.kernel; });
  }

  const Job& job_;
  std::vector<LaunchingOperator> forward_, backward_;
  std::vector<CrossEntropy> losses_;
  /// First row of each outermost operator, with its end and the index of its loss.
  std::map<std::uint32_t, std::pair<std::uint32_t, std::size_t>> loss_at_;
};

Effect NoCrossEntropy(const Job& job) {
  return NotFound(job, "the job has no cross entropy (log_softmax and nll_loss)",
                  {"log_softmax operators", [&](const LaunchingOperator& op) {
                     return NameOfOperator(job, op.op).find("log_softmax") !=
                            std::string_view::npos;
                   }});
}

/// Replaces the tasks of the losses. REQUIRES: the launches of their kernels are known.
void FuseLosses(const Job& job, const std::vector<CrossEntropy>& losses,
                const std::vector<bool>& host_events, Edit& edit) {
  std::vector<DurationNs> launches;
  std::vector<TaskIndex> others;
  for (const CrossEntropy& loss : losses) {
    const auto time_in = [&](DType dtype) {
      return MemoryPassTime(kLogitPasses * BytesOfLogits(loss, dtype), *job.device());
    };
    edit.ReplaceWork(loss.kernel, time_in(loss.dtype), time_in(DType::kBF16));
    launches.push_back(edit.DurationOf(job.LaunchOf(loss.kernel)));
    others.insert(others.end(), loss.others.begin(), loss.others.end());
  }
  ScaleHost(job, host_events, 0, edit);
  RemoveTasks(job, others, edit);
  // The host's time was not measured. Assumes that of fused attention, an operator with a backward.
  const HostCosts& costs = job.calibration().host;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const TaskIndex launch = job.LaunchOf(losses[i].kernel);
    edit.SetDuration(launch, launches[i]);
    edit.AddWorkBefore(launch, Nanoseconds(costs.forward_attention + costs.backward_attention));
  }
}

}  // namespace

Effect ApplyFusedCrossEntropy(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  if (job.device() == nullptr || !job.device()->memory_bandwidth_gbs)
    return Effect::Abstain(WhyNoFigure(job, "memory bandwidth"));
  CrossEntropyFinder finder(job);
  const std::vector<CrossEntropy> losses = finder.Find();
  if (!finder.HasForward()) return NoCrossEntropy(job);
  if (losses.empty()) {
    if (job.attribution().KnowsForward())
      return Effect::Nothing("the cross entropy has no backward: the job does not train with it");
    return Effect::Abstain(
        "the trace has no sequence numbers that match backward with forward operators");
  }
  double read = 0, saved = 0;
  bool copies = false;
  for (const CrossEntropy& loss : losses) {
    copies |= loss.has_copy;
    if (job.LaunchOf(loss.kernel) == kNoTask)
      return Effect::Abstain("the call that launched a kernel of log_softmax was not recorded");
    read += BytesOfLogits(loss, loss.dtype);
    saved += BytesOfLogits(loss, DType::kF32) * (loss.has_copy ? 2 : 1);
  }
  FuseLosses(job, losses, finder.HostEvents(), edit);
  const double steps = job.graph().steps;
  Effect effect;
  effect.why = fmt::format(
      "one kernel per loss reads {} of logits per step and writes their gradient in place; it "
      "saves "
      "at most {} of memory for {}log-probabilities, less if the peak is elsewhere",
      FormatBytes(read / steps), FormatBytes(saved / steps), copies ? "float32 logits and " : "");
  effect.memory_delta_bytes = -std::llround(saved / steps);
  effect.gpu_error = kCrossEntropyError;
  return effect;
}

}  // namespace headroom
