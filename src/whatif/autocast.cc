#include "whatif/autocast.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analysis/operator_costs.h"
#include "whatif/operators.h"

namespace headroom {
namespace {

struct NamedRule {
  std::string_view part;  ///< Of the operator's name.
  AutocastRule rule;
  /// What 16 bits make of its time where memory is not all that it costs; nullptr: half.
  double SustainedShares::*half_scale = nullptr;
};

// The first that matches.
constexpr std::array kRules = {
    NamedRule{"convolution", AutocastRule::kProduct},
    NamedRule{"::mm", AutocastRule::kProduct},
    NamedRule{"::addmm", AutocastRule::kProduct},
    NamedRule{"::bmm", AutocastRule::kProduct},
    NamedRule{"::baddbmm", AutocastRule::kProduct},
    NamedRule{"::linear", AutocastRule::kProduct},
    NamedRule{"::_cudnn_rnn", AutocastRule::kProduct},
    NamedRule{"::miopen_rnn", AutocastRule::kProduct},
    NamedRule{"softmax", AutocastRule::kFloat},
    NamedRule{"layer_norm", AutocastRule::kFloat},
    NamedRule{"group_norm", AutocastRule::kFloat},
    NamedRule{"loss", AutocastRule::kFloat},
    NamedRule{"cross_entropy", AutocastRule::kFloat},
    NamedRule{"::pow", AutocastRule::kFloat},
    NamedRule{"::exp", AutocastRule::kFloat},
    NamedRule{"::log", AutocastRule::kFloat},
    NamedRule{"::rsqrt", AutocastRule::kFloat},
    NamedRule{"::reciprocal", AutocastRule::kFloat},
    NamedRule{"::sum", AutocastRule::kFloat},
    NamedRule{"::cumsum", AutocastRule::kFloat},
    NamedRule{"::prod", AutocastRule::kFloat},
    NamedRule{"::norm", AutocastRule::kFloat},
    NamedRule{"::linalg_vector_norm", AutocastRule::kFloat},
    NamedRule{"batch_norm", AutocastRule::kPromote, &SustainedShares::half_batch_norm},
    NamedRule{"gelu", AutocastRule::kPromote, &SustainedShares::half_gelu},
    NamedRule{"dropout", AutocastRule::kPromote, &SustainedShares::half_dropout},
};
constexpr NamedRule kOtherRule = {"", AutocastRule::kPromote};

const NamedRule& RuleOf(std::string_view op) {
  const auto found = std::find_if(kRules.begin(), kRules.end(), [&](const NamedRule& rule) {
    return op.find(rule.part) != std::string_view::npos;
  });
  return found == kRules.end() ? kOtherRule : *found;
}

/// What autocast made of a forward operator, for its backward.
struct Outcome {
  bool half = false;  ///< It computed in 16 bits.
  double scale = 1;
  std::vector<Cast> casts;
};

/// Which argument of a product is the activations, where the other operands are weights. Both
/// operands of batched products are activations; few are cast, as what made them was a product.
std::size_t FirstOperand(std::string_view op) {
  return op.find("::addmm") != std::string_view::npos ? 1 : 0;
}

class AutocastFollower {
 public:
  AutocastFollower(const Job& job, DType dtype) : job_(job), dtype_(dtype) {}

  std::vector<AutocastOperator> Follow() {
    CollectOperators();
    for (AutocastOperator& op : operators_) {
      const Phase phase = job_.ContextOf(op.tasks.front()).phase;
      if (phase == Phase::kBackward) {
        Backward(op);
      } else if (phase != Phase::kOptimizer) {
        Forward(op);
      }
    }
    return std::move(operators_);
  }

 private:
  /// What 16 bits make of an operator's time.
  double HalfScale(const NamedRule& rule) const {
    return rule.half_scale == nullptr ? 0.5 : shares_.*rule.half_scale;
  }

  void CollectOperators() {
    for (LaunchingOperator& op : LaunchingOperators(job_))
      operators_.push_back({.op = op.op, .tasks = std::move(op.tasks), .casts = {}});
  }

  bool IsHalf(double elements) const {
    const auto known = half_.find(elements);
    return known != half_.end() && known->second;
  }

  void Forward(AutocastOperator& op) {
    const OperatorCall* call = job_.CallOf(op.op);
    if (!call) return;
    std::vector<Cast> floats;  // Of the float32 tensors among its inputs.
    const std::size_t activations = FirstOperand(NameOfOperator(job_, op.op));
    const bool batched = NameOfOperator(job_, op.op).find("bmm") != std::string_view::npos;
    bool any_half = false, any_float = false;
    double largest = 0, largest_half = 0;
    for (std::size_t a = 0; a < call->args.size(); ++a) {
      for (const TensorArg& tensor : call->args[a].tensors) {
        const bool floating = tensor.dtype == DType::kF32;
        if (!floating || tensor.dims.empty()) continue;
        const double elements = ElementsOf(tensor);
        largest = std::max(largest, elements);
        if (IsHalf(elements)) {
          any_half = true;
          largest_half = std::max(largest_half, elements);
        } else {
          any_float = true;
          floats.push_back({.elements = elements, .of_weight = !batched && a != activations});
        }
      }
    }
    const NamedRule& rule = RuleOf(NameOfOperator(job_, op.op));
    Outcome outcome;
    switch (rule.rule) {
      case AutocastRule::kProduct:
        outcome.half = op.product = true;
        outcome.casts = floats;
        half_[OutputElements(*call, largest)] = true;
        break;
      case AutocastRule::kFloat:
        if (any_half) outcome.casts.push_back({largest_half});
        half_[largest] = false;
        break;
      case AutocastRule::kPromote: {
        // Small tensors (a bias, a mask's row) do not make the kernel read much more.
        const bool mixed = any_half && any_float;
        outcome.half = any_half && !any_float;
        outcome.scale = outcome.half ? HalfScale(rule) : mixed ? shares_.mixed_addition : 1;
        if (NameOfOperator(job_, op.op).find("batch_norm") != std::string_view::npos && any_half) {
          // Its weights stay float32 by design.
          outcome.half = true;
          outcome.scale = dtype_ == DType::kBF16 ? shares_.bf16_batch_norm : HalfScale(rule);
        }
        if (mixed && !outcome.half) outcome.casts.push_back({largest_half});  // In the backward.
        half_[largest] = outcome.half;
        break;
      }
    }
    op.scale = outcome.scale;
    if (rule.rule != AutocastRule::kPromote) op.casts = outcome.casts;
    outcomes_[op.op] = std::move(outcome);
  }

  void Backward(AutocastOperator& op) {
    const HostEventId forward = job_.ContextOf(op.tasks.front()).forward;
    const auto outcome = FindOutcome(forward);
    const NamedRule& rule = RuleOf(NameOfOperator(job_, op.op));
    if (rule.rule == AutocastRule::kProduct) {
      op.product = true;
    } else if (outcome != outcomes_.end() && outcome->second.half) {
      // The gradient has the type of the output; of a product's bias, it is summed in 16 bits.
      op.scale = outcome->second.scale == 1 ? 0.5 : outcome->second.scale;
    }
    if (outcome == outcomes_.end() || outcome->second.casts.empty()) return;
    // Each cast of the forward is undone once.
    op.casts = std::exchange(outcome->second.casts, {});
  }

  /// Of the forward operator, or of one inside it.
  std::map<HostEventId, Outcome>::iterator FindOutcome(HostEventId forward) {
    if (!forward.valid()) return outcomes_.end();
    // Children follow their parent.
    const auto inside = outcomes_.lower_bound(forward);
    if (inside == outcomes_.end()) return inside;
    const auto& events = job_.store().host_events;
    const bool within = events.thread[inside->first.index()] == events.thread[forward.index()] &&
                        job_.store().HostEnd(inside->first) <= job_.store().HostEnd(forward);
    return within ? inside : outcomes_.end();
  }

  static double OutputElements(const OperatorCall& call, double largest_input) {
    if (const std::optional<GemmShape> shape = GemmShapeOf(call)) {
      return static_cast<double>(shape->batch) * static_cast<double>(shape->m) *
             static_cast<double>(shape->n);
    }
    if (const std::optional<ConvolutionShape> shape = ConvolutionShapeOf(call)) {
      double elements =
          static_cast<double>(shape->batch) * static_cast<double>(shape->out_channels);
      for (const std::int64_t extent : shape->out) elements *= static_cast<double>(extent);
      return elements;
    }
    return largest_input;
  }

  const Job& job_;
  const SustainedShares& shares_ = job_.calibration().kernels;
  const DType dtype_;
  std::vector<AutocastOperator> operators_;
  std::map<double, bool> half_;  ///< By elements: whether what was last written has 16 bits.
  std::map<HostEventId, Outcome> outcomes_;
};

}  // namespace

AutocastRule AutocastRuleOf(std::string_view op) { return RuleOf(op).rule; }

std::vector<AutocastOperator> FollowAutocast(const Job& job, DType dtype) {
  return AutocastFollower(job, dtype).Follow();
}

}  // namespace headroom
