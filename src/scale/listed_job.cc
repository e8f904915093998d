#include "scale/listed_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <variant>
#include <vector>

#include "kernels/kernel_model.h"
#include "predict/step_estimate.h"
#include "scale/sharded_list.h"
#include "scale/stage_partition.h"

namespace headroom {
namespace {

/// Times of one operator, in ns.
struct TimedOperator {
  double repeats = 1;
  double forward = 0, backward = 0;
  struct Accumulation {
    double ns, gradient_bytes;
  };
  std::vector<Accumulation> accumulations;
  double update = 0;         ///< The optimizer's update.
  bool has_forward = false;  ///< False for a row of the backward alone.
  double weight = 0;         ///< Elements of the weight whose gradient it computes; 0: none.
  /// Bytes that a tensor-parallel group all-reduces after the forward or the backward; 0: none.
  double forward_sum = 0, backward_sum = 0;
  bool begins_layer = false;

  double Work() const {
    double work = forward + backward + update;
    for (const Accumulation& accumulation : accumulations) work += accumulation.ns;
    return work;
  }
};

DurationNs Rounded(double ns) { return DurationNs(std::llround(ns)); }

/// Returns the elements of a weight if the work can be the gradient of one; 0 for other work.
double WeightElements(const KernelWork& work) {
  if (const auto* product = std::get_if<ProductWork>(&work.shape))
    return product->batched ? 0 : product->m * product->n;
  const auto* shape = std::get_if<ConvolutionShape>(&work.shape);
  if (shape == nullptr || !shape->weight_gradient || shape->groups <= 0) return 0;
  auto elements = static_cast<double>(shape->out_channels) *
                  static_cast<double>(shape->in_channels) / static_cast<double>(shape->groups);
  for (const std::int64_t side : shape->kernel) elements *= static_cast<double>(side);
  return elements;
}

/// REQUIRES: every kernel has a model.
std::vector<TimedOperator> TimeOperators(const ShardedList& shared, const DeviceRates& rates,
                                         const KernelConstants& constants) {
  std::vector<TimedOperator> operators;
  std::optional<std::int64_t> current;
  const auto sum_of = [](const std::map<std::int64_t, double>& sums, std::int64_t op) {
    const auto found = sums.find(op);
    return found == sums.end() ? 0 : found->second;
  };
  for (const ListedWork& listed : shared.list.works) {
    if (current != listed.op) {
      operators.push_back({.repeats = listed.repeats,
                           .accumulations = {},
                           .forward_sum = sum_of(shared.forward_sums, listed.op),
                           .backward_sum = sum_of(shared.backward_sums, listed.op),
                           .begins_layer = shared.layer_begins.contains(listed.op)});
    }
    current = listed.op;
    TimedOperator& op = operators.back();
    const KernelWork work = WorkOn(listed, rates);
    const double ns = HasKernels(work) ? *KernelNs(work, rates, constants) : 0;
    switch (listed.phase) {
      case StepPhase::kForward:
        op.forward += ns;
        op.has_forward = true;
        break;
      case StepPhase::kBackward:
        op.backward += ns;
        op.weight = std::max(op.weight, WeightElements(listed.work));
        break;
      case StepPhase::kAccumulate:
        op.accumulations.push_back({ns, listed.gradient_bytes});
        break;
      case StepPhase::kUpdate:
        op.update += ns;
        break;
    }
  }
  return operators;
}

/// Returns operators in the order of the forward. A run of operators with equal repeats is a layer,
/// which is repeated as a whole. A run appears once, with scaled times, if its repeats are
/// fractional or would exceed kMaxUnrolled.
std::vector<TimedOperator> Unrolled(const std::vector<TimedOperator>& operators) {
  constexpr double kMaxUnrolled = 100'000;  // Operators; a longer list is damaged or invented.
  std::vector<TimedOperator> all;
  for (std::size_t first = 0, last; first < operators.size(); first = last) {
    const double repeats = operators[first].repeats;
    last = first;
    while (last < operators.size() && operators[last].repeats == repeats) ++last;
    const bool whole =
        repeats == std::floor(repeats) &&
        static_cast<double>(all.size()) + repeats * static_cast<double>(last - first) <=
            kMaxUnrolled;
    const double times = whole ? repeats : 1, factor = whole ? 1 : repeats;
    for (double layer = 0; layer < times; ++layer) {
      for (std::size_t i = first; i < last; ++i) {
        TimedOperator op = operators[i];
        op.forward *= factor;
        op.backward *= factor;
        op.update *= factor;
        op.forward_sum *= factor;
        op.backward_sum *= factor;
        for (TimedOperator::Accumulation& accumulation : op.accumulations) {
          accumulation.ns *= factor;
          accumulation.gradient_bytes *= factor;
        }
        all.push_back(std::move(op));
      }
    }
  }
  return all;
}

/// Moves gradients that are listed behind the whole backward to the work that computes their
/// weights. Both are in the order of the backward; norms and biases lie between weights.
void SpreadGradients(std::vector<TimedOperator>& backward) {
  std::size_t works = backward.size();
  while (works > 0 && backward[works - 1].backward == 0) --works;
  std::vector<TimedOperator::Accumulation> behind;
  for (std::size_t i = 0; i < backward.size(); ++i) {
    if (backward[i].accumulations.empty()) continue;
    if (i < works) return;
    std::ranges::move(backward[i].accumulations, std::back_inserter(behind));
    backward[i].accumulations.clear();
  }
  constexpr std::size_t kBetween = 4;
  constexpr double kFloatBytes = 4;
  std::size_t next = 0;
  for (std::size_t i = 0; i < works; ++i) {
    if (backward[i].weight == 0) continue;
    for (std::size_t at = next; at < std::min(behind.size(), next + kBetween); ++at) {
      if (behind[at].gradient_bytes != kFloatBytes * backward[i].weight) continue;
      for (; next <= at; ++next) backward[i].accumulations.push_back(behind[next]);
      break;
    }
  }
  if (backward.empty()) return;
  for (; next < behind.size(); ++next) backward.back().accumulations.push_back(behind[next]);
}

/// Returns the operators in the order of their backward: rows with a forward in the opposite order,
/// and rows of the backward alone as they are listed.
std::vector<TimedOperator> InBackwardOrder(const std::vector<TimedOperator>& operators) {
  std::vector<TimedOperator> ordered, alone;
  for (const TimedOperator& op : operators) (op.has_forward ? ordered : alone).push_back(op);
  std::reverse(ordered.begin(), ordered.end());
  SpreadGradients(alone);
  std::ranges::move(alone, std::back_inserter(ordered));
  return ordered;
}

ChainStep StepOf(const std::vector<TimedOperator>& operators, const DeviceRates& rates) {
  ChainStep step;
  double work = 0, update = 0;
  std::vector<double> sums;
  const auto sum = [&](double bytes) {
    if (bytes > 0) sums.push_back(bytes);
  };
  for (const TimedOperator& op : operators) {
    work += op.forward;
    update += op.update;
    sum(op.forward_sum);
  }
  for (const TimedOperator& op : InBackwardOrder(operators)) {
    work += op.backward;
    sum(op.backward_sum);
    for (const TimedOperator::Accumulation& accumulation : op.accumulations) {
      work += accumulation.ns;
      // A copy reads and writes each byte once.
      const double copy = 2 * accumulation.gradient_bytes / rates.bytes_per_ns;
      step.gradients.push_back({.work = Rounded(work),
                                .bytes = accumulation.gradient_bytes,
                                .copy = Rounded(copy),
                                .sums = std::exchange(sums, {})});
      work = 0;
    }
  }
  step.rest_of_backward = Rounded(work);
  step.rest = Rounded(update);
  step.rest_sums = std::move(sums);
  return step;
}

/// Returns consecutive layers as stages, including the operators before the first layer and after
/// the last.
Result<PipelineStages> StagesOf(const std::vector<TimedOperator>& operators,
                                const ShardedList& shared, std::int64_t stages) {
  std::vector<LayerWork> layers(1);
  bool first = true;
  for (const TimedOperator& op : operators) {
    if (op.begins_layer && !std::exchange(first, false)) layers.emplace_back();
    layers.back().work += op.Work();
    for (const TimedOperator::Accumulation& accumulation : op.accumulations)
      layers.back().gradients.push_back(accumulation.gradient_bytes);
  }
  Result<PipelineStages> found = StagesOfLayers(layers, stages);
  if (found.ok()) found.value().layer_bytes = shared.layer_bytes;
  return found;
}

}  // namespace

Result<std::unique_ptr<ListedJob>> ListedJob::Make(const OperatorList& list,
                                                   const DeviceRates& rates,
                                                   const KernelConstants& constants,
                                                   const GradientTransfer& transfer,
                                                   const ModelParallel& split) {
  if (list.collectives > 0) {
    return Status::NoAnswer(
        fmt::format("{} already contains communication between GPUs; pass the list of one GPU",
                    list.name.empty() ? "the list" : list.name));
  }
  const Result<StepEstimate> estimate = EstimateStep(list, rates, constants, HostModel::None());
  if (!estimate.ok()) return estimate.status();
  // One hour. The engine's time type holds at most 25 hours per task; real steps are far shorter.
  constexpr double kMaxMs = 3.6e6;
  if (estimate.value().step.mid > kMaxMs) {
    return Status::NoAnswer(fmt::format(
        "a step of {:.3g} hours on {} is too long to replay: check the list's repeats and shapes",
        estimate.value().step.mid / kMaxMs, rates.device->short_name));
  }
  const auto unroll = [&](const ShardedList& shared) {
    return Unrolled(TimeOperators(shared, rates, constants));
  };
  const ChainStep step = StepOf(unroll({.list = list}), rates);
  if (step.gradients.empty()) {
    return Status::NoAnswer(fmt::format(
        "{} accumulates no gradients (column acc), so there is nothing to exchange: pass a step of "
        "training",
        list.name.empty() ? "the list" : list.name));
  }
  const PredictedMs& ms = estimate.value().step;
  const auto make = [&](WorkChain shared) {
    std::unique_ptr<ListedJob> job(new ListedJob(WorkChain({step}), std::move(shared)));
    job->transfer_ = transfer;
    job->least_work_ = ms.low / ms.mid;
    job->most_work_ = ms.high / ms.mid;
    job->samples_ = list.batch;
    return job;
  };
  if (split.Gpus() == 1) return make(WorkChain({step}));
  const bool has_lone_backward =
      std::any_of(list.works.begin(), list.works.end(),
                  [](const ListedWork& listed) { return listed.phase == StepPhase::kForward; }) &&
      std::ranges::any_of(unroll({.list = list}), [](const TimedOperator& op) {
        return !op.has_forward && op.backward > 0;
      });
  if (has_lone_backward) {
    return Status::NoAnswer(fmt::format(
        "{} has rows of the backward alone, as headroom ops writes them, so the layer of their "
        "work is unknown; tensor and pipeline parallelism require rows with fw and bw",
        list.name.empty() ? "the list" : list.name));
  }
  const Result<ShardedList> shared = ShardList(list, split.tensor);
  if (!shared.ok()) return shared.status();
  const std::vector<TimedOperator> operators = unroll(shared.value());
  Result<PipelineStages> stages = StagesOf(operators, shared.value(), split.stages);
  if (!stages.ok()) return stages.status();
  std::unique_ptr<ListedJob> job = make(WorkChain({StepOf(operators, rates)}, split.tensor));
  job->tensor_ = split.tensor;
  job->stages_ = stages.value();
  return job;
}

ScaledStep ListedJob::OnOneGpu() { return On(Topology(), Placement(), std::nullopt); }

ScaledStep ListedJob::On(const Topology& topology, const Placement& placement,
                         std::optional<std::int64_t> samples) {
  if (samples) {
    ScaledStep step;
    step.no_answer =
        "--strong: a list of operators covers only one batch size; leave out --strong and pass the "
        "operators of one GPU's share of the batch";
    return step;
  }
  WorkChain& chain = placement.gpus > 1 ? shared_ : whole_;
  ScaledStep step = chain.On(topology, placement, transfer_, least_work_, most_work_);
  step.limits.gpu_ms = chain.Replay(topology, Placement(), transfer_).step_ms;
  step.why = fmt::format("{:.1f} MB of gradients per step{}; kernels only, without host time",
                         chain.GradientBytes(transfer_) / 1e6, tensor_ > 1 ? " and GPU" : "");
  return step;
}

}  // namespace headroom
