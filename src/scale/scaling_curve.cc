#include "scale/scaling_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "scale/expected_maximum.h"

namespace headroom {
namespace {

ScalingPoint NoAnswer(const Placement& placement, std::string why) {
  return {.placement = placement, .no_answer = std::move(why), .step_ms = {}};
}

/// Time of a rank's own work beyond its share of one GPU's, and its name.
struct OwnLoss {
  double ms = 0;
  ScalingLimit limit = ScalingLimit::kBuckets;
};

ScalingLimit LimitOf(const ScaledStep& step, const ScalingPoint& point, const OwnLoss& own,
                     double loader_share) {
  const double all = point.step_ms.mid;
  const std::array losses = {
      std::pair(step.step_ms.mid - step.without_bytes_ms, ScalingLimit::kBandwidth),
      std::pair(step.step_ms.mid - step.without_latency_ms, ScalingLimit::kLatency),
      std::pair(point.straggler_ms, ScalingLimit::kStraggler),
      std::pair(point.bubble_ms, ScalingLimit::kPipeline),
      std::pair(point.overlap_ms, ScalingLimit::kOverlap),
      std::pair(point.loader_ms, ScalingLimit::kLoader),
      std::pair(own.ms, own.limit)};
  const auto most = std::max_element(
      losses.begin(), losses.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return most->first >= kLimitShare * all ? most->second : OwnLimit(step, loader_share);
}

}  // namespace

std::string_view Name(ScalingLimit limit) {
  switch (limit) {
    case ScalingLimit::kGpu:
      return "gpu";
    case ScalingLimit::kHost:
      return "host";
    case ScalingLimit::kLoader:
      return "loader";
    case ScalingLimit::kBandwidth:
      return "bandwidth";
    case ScalingLimit::kLatency:
      return "latency";
    case ScalingLimit::kStraggler:
      return "straggler";
    case ScalingLimit::kPipeline:
      return "pipeline";
    case ScalingLimit::kOverlap:
      return "overlap";
    case ScalingLimit::kBuckets:
      return "buckets";
  }
  return "";
}

ScalingLimit OwnLimit(const ScaledStep& step, double loader_share) {
  constexpr double kLoaderShare = 0.05;
  if (loader_share >= kLoaderShare) return ScalingLimit::kLoader;
  return step.limits.host_ms > step.limits.gpu_ms ? ScalingLimit::kHost : ScalingLimit::kGpu;
}

namespace {

/// Lengthens a step that is shorter than `least_ms`. Its lower bound stays.
void TakeAtLeast(double least_ms, ScaledStep& step) {
  for (double* ms :
       {&step.step_ms.mid, &step.step_ms.high, &step.without_latency_ms, &step.without_bytes_ms})
    *ms = std::max(*ms, least_ms);
}

}  // namespace

std::vector<ScalingPoint> ScalingCurve(ScalableJob& job, const Topology& topology,
                                       const std::vector<Placement>& placements, bool strong,
                                       const ScalingCosts& costs, const IsWanted& is_wanted) {
  constexpr double kMsPerSecond = 1e3;
  const ScaledStep one = job.OnOneGpu();
  const std::optional<std::int64_t> samples = job.samples();
  const double deviation =
      job.deviation().value_or(costs.deviation / std::sqrt(static_cast<double>(job.steps_alone())));
  const ModelParallel split = job.split();
  std::vector<ScalingPoint> points;
  for (const Placement& placement : placements) {
    if (!is_wanted()) break;
    if (!FillNodes(split, placement)) {
      points.push_back(NoAnswer(
          placement,
          fmt::format("{} GPUs that share layers do not fill machines of {} GPUs: "
                      "some groups span two machines, and the time of their all-reduces is unknown",
                      split.tensor, placement.PerNode())));
      continue;
    }
    if (placement.gpus % split.Gpus() != 0) {
      points.push_back(NoAnswer(
          placement,
          fmt::format("a replica of the model requires {0} GPUs, and {1} is not a multiple of {0}",
                      split.Gpus(), placement.gpus)));
      continue;
    }
    const std::int64_t batches = placement.gpus / split.Gpus() * split.micro_batches;
    std::optional<std::int64_t> each;
    if (strong) {
      if (!samples) {
        points.push_back(NoAnswer(placement,
                                  "the samples per step are unknown, so they cannot "
                                  "be split"));
        continue;
      }
      if (batches > *samples) {
        points.push_back(NoAnswer(
            placement, fmt::format("fewer samples per step ({}) than {} ({})", *samples,
                                   split.micro_batches > 1 ? "micro-batches of all replicas"
                                   : split.Gpus() > 1      ? "replicas"
                                                           : "GPUs",
                                   batches)));
        continue;
      }
      each = (*samples + batches - 1) / batches;
    }
    ScaledStep step = job.On(topology, placement, each);
    if (!step.no_answer.empty()) {
      points.push_back(NoAnswer(placement, step.no_answer));
      continue;
    }
    // If the samples do not divide evenly, some ranks have one more, which determines the time.
    const double work = strong ? 1 : static_cast<double>(batches);
    // One GPU also updates once for all batches of a step.
    const auto of_a_step = static_cast<double>(strong ? 1 : split.micro_batches);
    const double one_ms = one.step_ms.mid - job.update_ms() * (1 - 1 / of_a_step);
    const double ideal_ms =
        one.no_answer.empty() ? work * one_ms / static_cast<double>(placement.gpus) : 0;
    const OwnLoss own = {
        .ms = step.step_ms.mid - step.limits.exposed_ms - step.bubble_ms - ideal_ms,
        .limit = strong || split.Gpus() > 1 ? OwnLimit(step, 0) : ScalingLimit::kBuckets};
    if (!strong) TakeAtLeast(ideal_ms, step);
    ScalingPoint point = {.placement = placement,
                          .step_ms = step.step_ms,
                          .exposed_ms = step.limits.exposed_ms,
                          .transfers_ms = step.limits.transfers_ms,
                          .bubble_ms = step.bubble_ms,
                          .why = step.why};
    // Compute time varies between ranks; all ranks share the exchange.
    const double slowest =
        deviation * (ExpectedMaximumOfNormals(
                         static_cast<double>(std::max(placement.gpus, job.recorded_gpus()))) -
                     ExpectedMaximumOfNormals(static_cast<double>(job.recorded_gpus())));
    point.straggler_ms = slowest * (step.step_ms.mid - step.limits.exposed_ms);
    point.step_ms.low += point.straggler_ms / 2;
    point.step_ms.mid += point.straggler_ms;
    point.step_ms.high += 2 * point.straggler_ms;
    point.straggler_ms += step.waits_ms;  // The step already contains these waits.
    // A recording of several GPUs contains the slowdown.
    if (placement.gpus > 1 && job.recorded_gpus() == 1 && job.overlaps_on_device()) {
      const double overlapped =
          std::clamp(step.limits.transfers_ms - step.limits.exposed_ms, 0.0, step.step_ms.mid);
      point.overlap_ms = (costs.overlap_slowdown - 1) * overlapped;
      point.step_ms.low += point.overlap_ms / 3;
      point.step_ms.mid += point.overlap_ms;
      point.step_ms.high += 5 * point.overlap_ms / 3;
    }
    if (costs.loader_samples_per_s && samples) {
      const auto loaded =
          static_cast<double>(each.value_or(*samples) * split.micro_batches * placement.PerNode()) /
          static_cast<double>(split.Gpus());
      const double least_ms = kMsPerSecond * loaded / *costs.loader_samples_per_s;
      point.loader_ms = std::max(0.0, least_ms - point.step_ms.mid);
      for (double* end : {&point.step_ms.low, &point.step_ms.mid, &point.step_ms.high})
        *end = std::max(*end, least_ms);
    }
    if (one.no_answer.empty()) {
      const auto efficiency = [&](double step_ms) {
        const double share = ideal_ms / step_ms;
        // Each replica of a constant batch does all of one GPU's work.
        return strong ? share : std::min(1.0, share);
      };
      point.efficiency = efficiency(point.step_ms.mid);
      point.least_efficiency = efficiency(point.step_ms.high);
      point.most_efficiency = efficiency(point.step_ms.low);
    }
    if (samples) {
      point.samples_per_s = kMsPerSecond * work * static_cast<double>(*samples) / point.step_ms.mid;
    }
    point.limit = placement.gpus > 1 ? LimitOf(step, point, own, job.loader_share())
                                     : OwnLimit(step, job.loader_share());
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace headroom
