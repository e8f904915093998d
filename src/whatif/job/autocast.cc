#include "whatif/job/autocast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/names/operator_costs.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"

namespace headroom {
namespace {

struct NamedRule {
  std::string_view part;  ///< Part of the operator's name.
  AutocastRule rule;
  /// Measured factor on the operator's time in 16 bits; nullptr to estimate the factor from its
  /// bytes.
  double SustainedShares::*half_scale = nullptr;
  /// Operators that take a target type and cast while they read, without a cast kernel.
  /// - kForward: only in the forward; a kernel casts the gradient.
  /// - kFromFloat16: from float16, in both directions.
  enum class Inside : std::uint8_t { kNever, kFromFloat16, kForward } inside = Inside::kNever;
};
using Inside = NamedRule::Inside;

// The first match applies.
constexpr std::array kRules = {
    NamedRule{"convolution", AutocastRule::kProduct},
    NamedRule{"::mm", AutocastRule::kProduct},
    NamedRule{"::addmm", AutocastRule::kProduct},
    NamedRule{"::bmm", AutocastRule::kProduct},
    NamedRule{"::baddbmm", AutocastRule::kProduct},
    NamedRule{"::linear", AutocastRule::kProduct},
    NamedRule{"::_cudnn_rnn", AutocastRule::kProduct},
    NamedRule{"::miopen_rnn", AutocastRule::kProduct},
    NamedRule{"softmax", AutocastRule::kFloat, nullptr, Inside::kFromFloat16},
    NamedRule{"layer_norm", AutocastRule::kFloat},
    NamedRule{"group_norm", AutocastRule::kFloat},
    NamedRule{"loss", AutocastRule::kFloat},
    NamedRule{"cross_entropy", AutocastRule::kFloat},
    NamedRule{"::pow", AutocastRule::kFloat},
    NamedRule{"::exp", AutocastRule::kFloat},
    NamedRule{"::log", AutocastRule::kFloat},
    NamedRule{"::rsqrt", AutocastRule::kFloat},
    NamedRule{"::reciprocal", AutocastRule::kFloat},
    NamedRule{"::sum", AutocastRule::kFloat, nullptr, Inside::kForward},
    NamedRule{"::cumsum", AutocastRule::kFloat},
    NamedRule{"::prod", AutocastRule::kFloat, nullptr, Inside::kForward},
    NamedRule{"::norm", AutocastRule::kFloat, nullptr, Inside::kForward},
    NamedRule{"::linalg_vector_norm", AutocastRule::kFloat, nullptr, Inside::kForward},
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

// Shares of the delivered memory bandwidth. A kernel at or above kBound is memory-bound; a kernel
// below kUnbound is not. Measured on one H200: kernels that took half the time in 16 bits reached
// 0.87 to 0.95. Kernels with unchanged time reached 0.17 to 0.58: pooling, convolution biases,
// transposing copies, sums.
constexpr double kBound = 0.8, kUnbound = 0.6;

/// Result of autocast on a forward operator, for its backward.
struct Outcome {
  bool half = false;  ///< It computed in 16 bits.
  std::vector<Cast> casts;
};

/// Returns the index of a product's activation argument; the other operands are weights. Both
/// operands of batched products are activations. These rarely need a cast, because other products
/// wrote them.
std::size_t FirstOperand(std::string_view op) {
  return op.find("::addmm") != std::string_view::npos ? 1 : 0;
}

class AutocastFollower {
 public:
  AutocastFollower(const Job& job, DType dtype) : job_(job), dtype_(dtype) {}

  std::vector<AutocastOperator> Follow() {
    CollectOperators();
    Run run = Run::kOther;
    std::optional<std::int64_t> step;
    for (AutocastOperator& op : operators_) {
      const Run run_before = std::exchange(run, RunOf(job_.ContextOf(op.tasks.front())));
      const std::optional<std::int64_t> step_before =
          std::exchange(step, job_.StepNumberOf(op.tasks.front()));
      switch (run) {
        case Run::kForward:
          // The previous batch did not produce the inputs of this batch.
          if (run != run_before || step != step_before) Forget();
          Forward(op);
          break;
        case Run::kForwardAgain:
          // The previous operator did not produce the inputs of a recomputed block.
          if (run != run_before) last_half_ = false;
          Forward(op);
          break;
        case Run::kBackward:
          Backward(op);
          break;
        case Run::kOther:
          break;
      }
    }
    return std::move(operators_);
  }

 private:
  /// Part of the step that an operator belongs to. kForwardAgain: checkpointing runs it within the
  /// backward.
  enum class Run : std::uint8_t { kOther, kForward, kForwardAgain, kBackward };

  static Run RunOf(const HostContext& context) {
    if (context.recomputed) return Run::kForwardAgain;
    if (context.phase == Phase::kBackward) return Run::kBackward;
    return context.phase == Phase::kOptimizer ? Run::kOther : Run::kForward;
  }

  /// Returns true if the operator reads and writes any type without a cast, in forward and
  /// backward.
  bool NeedsNoCast(const NamedRule& rule) const {
    return rule.inside == Inside::kFromFloat16 && dtype_ == DType::kF16;
  }

  static bool IsBatchNorm(const NamedRule& rule) {
    return rule.half_scale == &SustainedShares::half_batch_norm;
  }

  /// Returns the factor on an operator's time in 16 bits.
  double HalfScale(const NamedRule& rule, const AutocastOperator& op) const {
    if (IsBatchNorm(rule) && dtype_ == DType::kBF16) return shares_.bf16_batch_norm;
    return rule.half_scale == nullptr ? ScaleByBytes(op) : shares_.*rule.half_scale;
  }

  /// Returns the factor from the operator's bytes. Half the bytes halve the time of memory-bound
  /// operators only. If the cost is unknown, assumes that the operator is memory-bound.
  double ScaleByBytes(const AutocastOperator& op) const {
    const double left = 1 - ShareOfFloats(op.op) / 2;
    const OperatorCost* cost = job_.CostOf(op.op);
    if (cost == nullptr || cost->bytes <= 0) return left;
    double ns = 0;
    for (const TaskIndex task : op.tasks)
      ns += std::max(0.0, static_cast<double>(job_.corrected().duration[task]) - kKernelStart);
    if (ns <= 0) return left;
    const double reached = cost->bytes / ns / bytes_per_ns_;
    const double unbound = std::clamp((kBound - reached) / (kBound - kUnbound), 0.0, 1.0);
    return left + (1 - left) * unbound;
  }

  /// Returns the share of floats in the bytes that an operator reads. Masks and indices keep their
  /// type.
  double ShareOfFloats(HostEventId op) const {
    const OperatorCall* call = job_.CallOf(op);
    if (call == nullptr) return 1;
    double floats = 0, all = 0;
    for (const auto& arg : call->args) {
      for (const TensorArg& tensor : arg.tensors) {
        const double bytes = ElementsOf(tensor) * BytesPerElement(tensor.dtype);
        all += bytes;
        if (tensor.dtype == DType::kF32) floats += bytes;
      }
    }
    return all > 0 ? floats / all : 1;
  }

  /// Returns true if an operator is part of a product and uses its type, such as the bias of a
  /// convolution.
  bool IsInsideProduct(HostEventId op) const {
    const auto& events = job_.store().host_events;
    for (HostEventId parent = events.parent[op.index()]; parent.valid();
         parent = events.parent[parent.index()]) {
      if (events.kind[parent.index()] == HostEventKind::kOperator &&
          RuleOf(NameOfOperator(job_, parent)).rule == AutocastRule::kProduct)
        return true;
    }
    return false;
  }

  void CollectOperators() {
    for (LaunchingOperator& op : LaunchingOperators(job_))
      operators_.push_back({.op = op.op, .tasks = std::move(op.tasks), .casts = {}});
  }

  /// Returns true if the first tensor of an operator is a table or fresh memory, not another
  /// operator's output.
  static bool IsLookupOrFill(std::string_view name) {
    constexpr std::array<std::string_view, 6> kParts = {"embedding", "::index", "::gather",
                                                        "fill_",     "zero_",   "::copy_"};
    return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
      return name.find(part) != std::string_view::npos;
    });
  }

  void Forget() {
    half_.clear();
    last_half_ = false;
  }

  /// Returns true if a tensor with `elements` elements has 16 bits.
  ///
  /// @param made  true if an operator wrote the tensor, false for a parameter. If no write of this
  /// size is known, a written tensor has the type of the last output.
  bool IsHalf(double elements, bool made) const {
    const auto known = half_.find(elements);
    return known != half_.end() ? known->second : made && last_half_;
  }

  void Forward(AutocastOperator& op) {
    const OperatorCall* call = job_.CallOf(op.op);
    if (!call) return;
    const std::string_view name = NameOfOperator(job_, op.op);
    const NamedRule& rule = RuleOf(name);
    const bool product = rule.rule == AutocastRule::kProduct;
    const bool batched = name.find("bmm") != std::string_view::npos;
    const std::size_t activations = FirstOperand(name);
    const bool made_first = !IsLookupOrFill(name);
    std::vector<Cast> floats;  // The float32 tensors among its inputs.
    bool any_half = false, any_float = false, first = true;
    double largest = 0, largest_half = 0;
    for (std::size_t a = 0; a < call->args.size(); ++a) {
      for (const TensorArg& tensor : call->args[a].tensors) {
        const bool floating = tensor.dtype == DType::kF32;
        if (!floating || tensor.dims.empty()) continue;
        const double elements = ElementsOf(tensor);
        largest = std::max(largest, elements);
        const bool weight = product && !batched && a != activations;
        const bool made = product || (first && made_first);
        first = false;
        if (!weight && IsHalf(elements, made)) {
          any_half = true;
          largest_half = std::max(largest_half, elements);
        } else {
          any_float = true;
          floats.push_back({.elements = elements, .of_weight = weight});
        }
      }
    }
    Outcome outcome;
    if (rule.rule == AutocastRule::kPromote && any_half && IsInsideProduct(op.op)) {
      // Runs after the product, which wrote the largest tensor.
      outcome.half = half_[largest] = true;
      op.scale = HalfScale(rule, op);
      outcomes_[op.op] = std::move(outcome);
      return;
    }
    // Lists, integers and masks say nothing about types.
    if (rule.rule == AutocastRule::kPromote && !any_half && !any_float) return;
    switch (rule.rule) {
      case AutocastRule::kProduct:
        outcome.half = op.product = true;
        outcome.casts = floats;
        half_[OutputElements(*call, largest)] = true;
        break;
      case AutocastRule::kFloat:
        if (any_half && !NeedsNoCast(rule))
          outcome.casts.push_back({.elements = largest_half, .widens = true});
        half_[largest] = false;
        break;
      case AutocastRule::kPromote: {
        const bool mixed = any_half && any_float;
        // The weights of a batch norm stay float32 by design.
        outcome.half = any_half && (!any_float || IsBatchNorm(rule));
        op.scale = outcome.half ? HalfScale(rule, op) : mixed ? shares_.mixed_addition : 1;
        // The forward kernel casts internally; the backward kernel does not.
        if (mixed && !outcome.half)
          outcome.casts.push_back({.elements = largest_half, .widens = true});
        half_[largest] = outcome.half;
        break;
      }
    }
    last_half_ = outcome.half;
    if (rule.rule != AutocastRule::kPromote && rule.inside != Inside::kForward)
      op.casts = outcome.casts;
    outcomes_[op.op] = std::move(outcome);
  }

  void Backward(AutocastOperator& op) {
    const HostEventId forward = job_.ContextOf(op.tasks.front()).forward;
    const auto outcome = FindOutcome(forward);
    const NamedRule& rule = RuleOf(NameOfOperator(job_, op.op));
    if (rule.rule == AutocastRule::kProduct) {
      op.product = true;
    } else if (outcome != outcomes_.end() && outcome->second.half) {
      // The gradient has the type of the output. The gradient of a product's bias is summed in 16
      // bits.
      op.scale = HalfScale(rule, op);
    }
    if (outcome == outcomes_.end() || outcome->second.casts.empty()) return;
    // The backward reverses each cast of the forward once.
    op.casts = std::exchange(outcome->second.casts, {});
    for (Cast& cast : op.casts) cast.widens = !cast.widens;
    // Inputs such as images need no gradient.
    const OperatorCall* call = job_.CallOf(op.op);
    const auto shape = call != nullptr ? ConvolutionShapeOf(*call) : std::nullopt;
    if (shape && !shape->data_gradient)
      std::erase_if(op.casts, [](const Cast& cast) { return !cast.of_weight; });
  }

  /// Finds the outcome of the forward operator, or of an operator nested in it.
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
  const double bytes_per_ns_ = job_.device()->memory_bandwidth_gbs.value() *
                               job_.device()->delivered_bandwidth_share.value_or(1);
  const DType dtype_;
  std::vector<AutocastOperator> operators_;
  /// Keyed by number of elements; true if the tensor written last has 16 bits.
  std::map<double, bool> half_;
  bool last_half_ = false;  ///< True if the last operator's output has 16 bits.
  std::map<HostEventId, Outcome> outcomes_;
};

}  // namespace

DurationNs CastTime(const Cast& cast, const DeviceSpec& device) {
  constexpr double kBytes = 6;  // Reads four bytes and writes two, or the reverse.
  const SustainedShares& shares = device.sustained;
  const double share = cast.widens ? shares.widening_bytes : shares.narrowing_bytes;
  return DurationNs(
      std::llround(kKernelStart + cast.elements * kBytes / (*device.memory_bandwidth_gbs * share)));
}

AutocastRule AutocastRuleOf(std::string_view op) { return RuleOf(op).rule; }

std::vector<AutocastOperator> FollowAutocast(const Job& job, DType dtype) {
  return AutocastFollower(job, dtype).Follow();
}

}  // namespace headroom
