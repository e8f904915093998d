#include "whatif/job/trained_parameters.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "analysis/names/operator_costs.h"
#include "kernels/tensor_core_time.h"
#include "whatif/job/gradients.h"
#include "whatif/job/operators.h"

namespace headroom {
namespace {

using Extents = std::vector<std::int64_t>;

/// Share of a convolution's backward that computes the weight's gradient, where kernels do not show
/// it. Both gradients have the same FLOPs.
constexpr double kWeightShare = 0.5;

/// Part of the names of kernels that compute only a norm's weight and bias. Other norms need the
/// same sums for the gradient of the input.
constexpr std::string_view kNormKernel = "GammaBeta";

/// Largest number of parameters whose gradients a norm computes: weight and bias.
constexpr int kNormParameters = 2;

bool HasPart(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool IsPass(std::string_view name) {
  return name == "aten::copy_" || name == "aten::add_" || name == "aten::add";
}

/// Returns true if an operator of the backward with this name may compute a parameter's gradient.
bool MayCompleteGradient(std::string_view name) {
  return IsPass(name) || name == "aten::mm" || name == "aten::sum" ||
         HasPart(name, "convolution_backward") || HasPart(name, "embedding_dense_backward") ||
         HasPart(name, "norm_backward");
}

/// Returns true if a product computes the gradient of its forward's weight, not of its input.
bool IsOfWeight(const OperatorCall& call, const GemmShape& shape, const OperatorCall* forward) {
  const std::optional<GemmShape> product =
      forward != nullptr ? GemmShapeOf(*forward) : std::optional<GemmShape>();
  if (product) {
    const bool weight = shape.k == product->m && shape.m * shape.n == product->k * product->n;
    const bool input = shape.m == product->m && shape.k == product->n && shape.n == product->k;
    if (weight != input) return weight;
  }
  return LayoutOf(call, shape, shape.dtype).IsOfWeightGradient();
}

/// An operator of the backward that no parameter has claimed so far.
struct GradientWork {
  HostEventId op, forward;
  const OperatorCall* call = nullptr;
  const std::vector<TaskIndex>* tasks = nullptr;
  int claims = 0, max_claims = 1;
};

class ParameterFinder {
 public:
  explicit ParameterFinder(const Job& job) : job_(job) {
    for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
      if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
      const HostEventId op = CompletingOperator(job.ContextOf(task).op);
      if (op.valid()) tasks_[op].push_back(task);
    }
  }

  std::vector<TrainedParameter> Find() {
    const auto& events = job_.store().host_events;
    ThreadId thread;
    std::int32_t step = -1;
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventId event(row);
      if (events.kind[row] != HostEventKind::kOperator) continue;
      const HostContext& context = job_.attribution().Of(event);
      if (context.phase != Phase::kBackward || context.recomputed) continue;
      if (const std::int32_t now = StepOfMoment(job_, events.start[row]);
          now != step || events.thread[row] != thread) {
        step = now;
        thread = events.thread[row];
        candidates_.clear();
        last_forward_ = {};
      }
      if (step < 0) continue;
      if (NameOfOperator(job_, event) == kAccumulateGrad) {
        Accumulate(event);
        continue;
      }
      if (context.forward.valid()) last_forward_ = context.forward;
      if (const auto tasks = tasks_.find(event);
          tasks != tasks_.end() && !IsInAccumulation(job_, event))
        AddCandidate(event, context.forward, tasks->second);
    }
    return std::move(found_);
  }

 private:
  /// Returns the operator around a task that may complete a gradient; the node itself inside
  /// AccumulateGrad. Returns an invalid id if there is none.
  HostEventId CompletingOperator(HostEventId op) const {
    HostEventId found;
    for (; op.valid(); op = job_.store().host_events.parent[op.index()]) {
      const std::string_view name = NameOfOperator(job_, op);
      if (name == kAccumulateGrad) return op;
      if (!found.valid() && MayCompleteGradient(name)) found = op;
    }
    return found;
  }

  void AddCandidate(HostEventId op, HostEventId forward, const std::vector<TaskIndex>& tasks) {
    const OperatorCall* call = job_.CallOf(op);
    if (call == nullptr) return;
    const bool norm = HasPart(call->name, "norm_backward");
    candidates_.push_back({.op = op,
                           .forward = forward,
                           .call = call,
                           .tasks = &tasks,
                           .max_claims = norm ? kNormParameters : 1});
  }

  void Accumulate(HostEventId event) {
    const OperatorCall* call = job_.CallOf(event);
    if (!call || call->args.empty() || call->args[0].tensors.size() != 1) return;
    const TensorArg& tensor = call->args[0].tensors[0];
    TrainedParameter parameter{.accumulate = event,
                               .bytes = ElementsOf(tensor) * BytesPerElement(tensor.dtype),
                               .users = {},
                               .parts = {}};
    Claim(tensor.dims, parameter);
    if (parameter.users.empty() && last_forward_.valid()) parameter.users = {last_forward_};
    if (const auto added = tasks_.find(event); added != tasks_.end()) {
      for (const TaskIndex task : added->second) parameter.parts.push_back({.task = task});
    }
    found_.push_back(std::move(parameter));
  }

  /// Adds the operators that compute the parameter's gradient. Several operators may share a
  /// weight, so it claims all products of its shape; a vector claims only the latest operator.
  void Claim(const Extents& dims, TrainedParameter& parameter) {
    for (std::size_t i = candidates_.size(); i-- > 0;) {
      GradientWork& candidate = candidates_[i];
      if (candidate.claims >= candidate.max_claims || !Completes(candidate, dims)) continue;
      if (dims.size() == 1 && !parameter.users.empty()) break;
      ++candidate.claims;
      if (!IsPass(candidate.call->name) && candidate.forward.valid())
        parameter.users.push_back(candidate.forward);
      AddParts(candidate, parameter);
    }
  }

  bool Completes(const GradientWork& candidate, const Extents& dims) const {
    const OperatorCall& call = *candidate.call;
    if (call.args.empty() || call.args[0].tensors.size() != 1) return false;
    const Extents& first = call.args[0].tensors[0].dims;
    if (IsPass(call.name)) return first == dims;
    if (call.name == "aten::sum")
      return dims.size() == 1 && first.size() > 1 &&
             std::find(first.begin(), first.end(), dims[0]) != first.end();
    if (HasPart(call.name, "norm_backward")) {
      return dims.size() == 1 &&
             std::any_of(call.args.begin(), call.args.end(), [&](const OperatorArg& arg) {
               return arg.tensors.size() == 1 && arg.tensors[0].dims == dims;
             });
    }
    if (HasPart(call.name, "embedding_dense_backward"))
      return dims.size() == 2 && !first.empty() && first.back() == dims[1] &&
             call.args.size() > 2 &&
             (call.args[2].concrete.empty() ||
              std::strtoll(call.args[2].concrete.c_str(), nullptr, 10) == dims[0]);
    if (const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call))
      return shape->weight_gradient && call.args.size() > 2 && call.args[2].tensors.size() == 1 &&
             call.args[2].tensors[0].dims == dims;
    const std::optional<GemmShape> shape = GemmShapeOf(call);
    if (!shape || shape->batch != 1 || dims.size() != 2) return false;
    const bool same = (shape->m == dims[0] && shape->n == dims[1]) ||
                      (shape->m == dims[1] && shape->n == dims[0]);
    return same && IsOfWeight(call, *shape,
                              candidate.forward.valid() ? job_.CallOf(candidate.forward) : nullptr);
  }

  void AddParts(const GradientWork& candidate, TrainedParameter& parameter) const {
    const OperatorCall& call = *candidate.call;
    const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call);
    const bool norm = HasPart(call.name, "norm_backward");
    const auto is_separate = [&](TaskIndex task) {
      return HasPart(job_.NameOf(task), kNormKernel);
    };
    const bool separate =
        norm && std::any_of(candidate.tasks->begin(), candidate.tasks->end(), is_separate);
    for (const TaskIndex task : *candidate.tasks) {
      const std::string_view kernel = job_.NameOf(task);
      double share = 1;
      if (shape && shape->data_gradient) {
        if (HasPart(kernel, "dgrad")) continue;
        if (!HasPart(kernel, "wgrad")) share = kWeightShare;
      } else if (separate) {
        if (!is_separate(task)) continue;
      } else if (norm) {
        share = 0;
      }
      parameter.parts.push_back({.task = task, .share = share});
    }
  }

  const Job& job_;
  /// GPU tasks by the operator that may complete a gradient.
  std::map<HostEventId, std::vector<TaskIndex>> tasks_;
  std::vector<GradientWork> candidates_;  ///< Operators of this thread and step, in order.
  HostEventId last_forward_;              ///< Forward operator of the last node.
  std::vector<TrainedParameter> found_;
};

}  // namespace

std::vector<TrainedParameter> FindTrainedParameters(const Job& job) {
  return ParameterFinder(job).Find();
}

std::int32_t StepOfMoment(const Job& job, TimeNs moment) {
  const std::vector<Interval>& hosts = job.steps().hosts;
  if (hosts.empty()) return 0;
  const auto after =
      std::upper_bound(hosts.begin(), hosts.end(), moment,
                       [](TimeNs at, const Interval& host) { return at < host.start; });
  if (after == hosts.begin() || moment >= std::prev(after)->end) return -1;
  return static_cast<std::int32_t>(std::prev(after) - hosts.begin());
}

bool IsInAccumulation(const Job& job, HostEventId event) {
  for (; event.valid(); event = job.store().host_events.parent[event.index()]) {
    if (NameOfOperator(job, event) == kAccumulateGrad) return true;
  }
  return false;
}

}  // namespace headroom
