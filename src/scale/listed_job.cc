#include "scale/listed_job.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "predict/kernel_model.h"
#include "predict/step_estimate.h"

namespace headroom {
namespace {

/// One operator, in ns.
struct TimedOperator {
  double repeats = 1;
  double forward = 0, backward = 0;
  struct Accumulation {
    double ns, gradient_bytes;
  };
  std::vector<Accumulation> accumulations;
};

DurationNs Rounded(double ns) { return DurationNs(std::llround(ns)); }

/// REQUIRES: every kernel has a model.
std::vector<TimedOperator> TimeOperators(const OperatorList& list, const DeviceRates& rates,
                                         const KernelConstants& constants) {
  std::vector<TimedOperator> operators;
  std::optional<std::int64_t> current;
  for (const ListedWork& listed : list.works) {
    if (current != listed.op) operators.emplace_back().repeats = listed.repeats;
    current = listed.op;
    TimedOperator& op = operators.back();
    const double ns = *KernelNs(listed.work, rates, constants);
    switch (listed.phase) {
      case StepPhase::kForward:
        op.forward += ns;
        break;
      case StepPhase::kBackward:
        op.backward += ns;
        break;
      case StepPhase::kAccumulate:
        op.accumulations.push_back({ns, listed.gradient_bytes});
        break;
    }
  }
  return operators;
}

/// In the order of the forward. A run of operators with the same repeats is a layer, which comes so
/// many times as a whole; one with a broken number of repeats, or with more than any model has,
/// comes once and takes so much longer.
std::vector<TimedOperator> Unrolled(const std::vector<TimedOperator>& operators) {
  constexpr double kMostUnrolled = 100'000;  // Operators; beyond, a list is damaged or made up.
  std::vector<TimedOperator> all;
  for (std::size_t first = 0, last; first < operators.size(); first = last) {
    const double repeats = operators[first].repeats;
    last = first;
    while (last < operators.size() && operators[last].repeats == repeats) ++last;
    const bool whole =
        repeats == std::floor(repeats) &&
        static_cast<double>(all.size()) + repeats * static_cast<double>(last - first) <=
            kMostUnrolled;
    const double times = whole ? repeats : 1, factor = whole ? 1 : repeats;
    for (double layer = 0; layer < times; ++layer) {
      for (std::size_t i = first; i < last; ++i) {
        TimedOperator op = operators[i];
        op.forward *= factor;
        op.backward *= factor;
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

ChainStep StepOf(const std::vector<TimedOperator>& operators, const DeviceRates& rates) {
  ChainStep step;
  double work = 0;
  for (const TimedOperator& op : operators) work += op.forward;
  for (std::size_t i = operators.size(); i-- > 0;) {
    work += operators[i].backward;
    for (const TimedOperator::Accumulation& accumulation : operators[i].accumulations) {
      work += accumulation.ns;
      // Read once and written once.
      const double copy = 2 * accumulation.gradient_bytes / rates.bytes_per_ns;
      step.gradients.push_back(
          {.work = Rounded(work), .bytes = accumulation.gradient_bytes, .copy = Rounded(copy)});
      work = 0;
    }
  }
  step.rest_of_backward = Rounded(work);
  return step;
}

}  // namespace

Result<std::unique_ptr<ListedJob>> ListedJob::Make(const OperatorList& list,
                                                   const DeviceRates& rates,
                                                   const KernelConstants& constants,
                                                   double bucket_bytes) {
  if (list.collectives > 0) {
    return Status::NoAnswer(
        fmt::format("{} holds communication between GPUs already; give the list of one GPU",
                    list.name.empty() ? "the list" : list.name));
  }
  const Result<StepEstimate> estimate = EstimateStep(list, rates, constants);
  if (!estimate.ok()) return estimate.status();
  // What is replayed has room for 25 hours in one piece; nobody's step takes one.
  constexpr double kMostMs = 3.6e6;
  if (estimate.value().step.mid > kMostMs) {
    return Status::NoAnswer(fmt::format(
        "a step of {:.3g} hours on {} is not replayed: check the list's repeats and shapes",
        estimate.value().step.mid / kMostMs, rates.device->short_name));
  }
  const ChainStep step = StepOf(Unrolled(TimeOperators(list, rates, constants)), rates);
  if (step.gradients.empty()) {
    return Status::NoAnswer(fmt::format(
        "{} accumulates no gradients (column acc), so there is nothing to exchange: give a step of "
        "training",
        list.name.empty() ? "the list" : list.name));
  }
  std::unique_ptr<ListedJob> job(new ListedJob(WorkChain({step})));
  job->bucket_bytes_ = bucket_bytes;
  const PredictedMs& ms = estimate.value().step;
  job->least_work_ = ms.low / ms.mid;
  job->most_work_ = ms.high / ms.mid;
  job->samples_ = list.batch;
  return job;
}

ScaledStep ListedJob::OnOneGpu() { return On(Topology(), Placement(), std::nullopt); }

ScaledStep ListedJob::On(const Topology& topology, const Placement& placement,
                         std::optional<std::int64_t> samples) {
  if (samples) {
    ScaledStep step;
    step.no_answer = "a list of operators is of one batch; give one of the share that each GPU has";
    return step;
  }
  ScaledStep step = chain_.On(topology, placement, bucket_bytes_, least_work_, most_work_);
  step.limits.gpu_ms = chain_.Replay(topology, Placement(), bucket_bytes_).step_ms;
  step.why = fmt::format("{:.1f} MB of gradients a step; kernels alone, without an optimizer",
                         GradientBytes() / 1e6);
  return step;
}

}  // namespace headroom
