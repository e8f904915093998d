// metaflow: two substitutions in the forward that keep its results.
// - Products with the same input become one wide product (query, key and value of attention).
// - The bias and ReLU after a convolution run inside it.
//
// Source: Jia et al., "Optimizing DNN Computation with Relaxed Graph Substitutions" (SysML 2019).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "analysis/names/operator_costs.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

constexpr std::int64_t kTile =
    128;  ///< Tile of a product: a multiprocessor computes 128 by 128 results at once.

constexpr double kMetaflowError = 0.2;

bool IsBiasOrRelu(std::string_view op) {
  constexpr std::array<std::string_view, 6> kNames = {"aten::add_",       "aten::add",
                                                      "aten::relu",       "aten::relu_",
                                                      "aten::clamp_min_", "aten::clamp_min"};
  return std::find(kNames.begin(), kNames.end(), op) != kNames.end();
}

std::int64_t Tiles(std::int64_t extent) { return (extent + kTile - 1) / kTile; }

/// Returns the number of waves: how often the multiprocessors run one tile each.
double Waves(std::int64_t m, std::int64_t n, double processors) {
  const auto tiles = static_cast<double>(Tiles(m) * Tiles(n));
  return std::ceil(tiles / processors);
}

/// Returns the shape of a product of activations with a weight; nullopt for any other operator.
std::optional<GemmShape> ProductOf(const Job& job, const LaunchingOperator& op, const Edit& edit) {
  if (IsReplaced(op.tasks, edit)) return std::nullopt;
  const std::string_view name = NameOfOperator(job, op.op);
  if (name != "aten::mm" && name != "aten::addmm") return std::nullopt;
  const OperatorCall* call = job.CallOf(op.op);
  return call ? GemmShapeOf(*call) : std::nullopt;
}

class Substitutions {
 public:
  Substitutions(const Job& job, Edit& edit) : job_(job), edit_(edit) {
    for (LaunchingOperator& op : LaunchingOperators(job)) {
      const Phase phase = job.ContextOf(op.tasks.front()).phase;
      if (phase == Phase::kForward || phase == Phase::kOther) forward_.push_back(std::move(op));
    }
  }

  void MergeProducts() {
    if (job_.device() == nullptr || !job_.device()->sm_count) return;
    for (std::size_t i = 0; i < forward_.size();) {
      const std::size_t end = EndOfParallel(i);
      if (end > i + 1) Merge(i, end);
      i = end;
    }
  }

  void FuseIntoConvolutions() {
    for (std::size_t i = 0; i < forward_.size(); ++i) {
      const OperatorCost* cost = job_.CostOf(forward_[i].op);
      if (cost == nullptr || cost->family != WorkFamily::kConvolution) continue;
      const HostEventId around = OutermostOperator(job_, forward_[i].op);
      for (std::size_t next = i + 1; next < forward_.size(); ++next) {
        const std::string_view name = NameOfOperator(job_, forward_[next].op);
        // A bias is added inside the convolution's operator. An addition outside is a separate
        // operator.
        const bool adds = name.starts_with("aten::add");
        const bool inside = OutermostOperator(job_, forward_[next].op) == around;
        if (!IsBiasOrRelu(name) || (adds && !inside) || IsReplaced(forward_[next].tasks, edit_))
          break;
        gone_.push_back(forward_[next]);
        ++fused_;
        if (!adds) break;
      }
    }
  }

  void Finish() { RemoveOperators(job_, gone_, edit_); }

  std::int64_t merged() const { return merged_; }
  std::int64_t fused() const { return fused_; }

 private:
  std::int32_t StepOf(std::size_t op) const {
    return job_.graph().tasks[forward_[op].tasks.front()].step;
  }

  /// Returns the index after the last of the consecutive products with equal rows and inner
  /// dimensions. Assumes that these read the same input, because networks do not multiply twice in
  /// a row without a function between.
  std::size_t EndOfParallel(std::size_t first) const {
    const std::optional<GemmShape> shape = ProductOf(job_, forward_[first], edit_);
    std::size_t end = first + 1;
    while (shape && end < forward_.size()) {
      const std::optional<GemmShape> next = ProductOf(job_, forward_[end], edit_);
      if (!next || next->m != shape->m || next->k != shape->k || StepOf(end) != StepOf(first))
        break;
      ++end;
    }
    return end;
  }

  void Merge(std::size_t first, std::size_t end) {
    const auto processors = static_cast<double>(*job_.device()->sm_count);
    double apart = 0, time = 0;
    std::int64_t m = 0, n = 0;
    for (std::size_t i = first; i < end; ++i) {
      const std::optional<GemmShape> shape = ProductOf(job_, forward_[i], edit_);
      m = shape->m;
      n += shape->n;
      apart += Waves(shape->m, shape->n, processors);
      for (const TaskIndex task : forward_[i].tasks)
        time += static_cast<double>(edit_.DurationOf(task).ns());
      if (i > first) gone_.push_back(forward_[i]);
    }
    const double share = std::min(1.0, Waves(m, n, processors) / apart);
    const std::vector<TaskIndex>& tasks = forward_[first].tasks;
    edit_.SetDuration(tasks.front(), DurationNs(std::llround(time * share)));
    RemoveTasks(job_, {tasks.begin() + 1, tasks.end()}, edit_);
    merged_ += static_cast<std::int64_t>(end - first);
  }

  const Job& job_;
  Edit& edit_;
  std::vector<LaunchingOperator> forward_, gone_;
  std::int64_t merged_ = 0, fused_ = 0;
};

}  // namespace

Effect ApplyMetaflow(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  Substitutions substitutions(job, edit);
  substitutions.MergeProducts();
  substitutions.FuseIntoConvolutions();
  if (substitutions.merged() == 0 && substitutions.fused() == 0) {
    return NotFound(job,
                    "nothing to substitute: no consecutive products with the same input, and no "
                    "bias or ReLU directly after a convolution",
                    {"matrix products and convolutions",
                     [&](const LaunchingOperator& op) { return IsProduct(job, op); }});
  }
  substitutions.Finish();
  Effect effect;
  effect.why = fmt::format(
      "per step, {:.3g} products with shared inputs are merged and {:.3g} biases and ReLUs run "
      "inside convolutions",
      static_cast<double>(substitutions.merged()) / job.graph().steps,
      static_cast<double>(substitutions.fused()) / job.graph().steps);
  effect.gpu_error = kMetaflowError;
  return effect;
}

}  // namespace headroom
