#include "analysis/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/format.h"
#include "base/statistics.h"

namespace headroom {
namespace {

// The rules of the verdict, in one place. Shares are of the median step.
//
// A cause other than GPU work is the verdict when it holds at least kClearPct and at least
// kLeadFactor times the next cause that is not GPU work. GPU work is the verdict when all waiting
// together, less what recording cost the host, stays below kClearPct. Between the two the step is
// balanced. Kernels are bound by memory when more GPU time is (by the roofline; where shapes are
// missing, by class) bound by memory than by arithmetic.
//
// The profiler slows the host. A step is called host-bound only if the host would still hold
// kClearPct of it without the rough cost of recording (profiler_cost.h); if it would not, nobody
// can tell from the trace alone: balanced, at low confidence.
constexpr double kClearPct = 15;
constexpr double kSurePct = 30;  // From here on the confidence is high.
constexpr double kLeadFactor = 1.3;

/// Whether GPU work is bound by memory; by class where too little of it has known FLOPs and bytes.
struct GpuBound {
  bool memory = false;
  std::string evidence;
  bool by_class = false;
};

GpuBound BoundOfGpuWork(const TraceReport& report) {
  constexpr double kEnoughCostedPct = 50;
  const Efficiency& use = report.efficiency;
  GpuBound bound;
  if (use.compute_bound_pct && *use.compute_bound_pct + *use.memory_bound_pct >= kEnoughCostedPct) {
    bound.memory = *use.memory_bound_pct > *use.compute_bound_pct;
    bound.evidence = fmt::format(
        "by the roofline of {}, {} of the GPU time is bound by arithmetic and {} by memory",
        use.device_name, FormatPercent(*use.compute_bound_pct),
        FormatPercent(*use.memory_bound_pct));
    return bound;
  }
  double arithmetic = 0;
  double memory = 0;
  for (const ClassRow& row : report.classes) {
    const bool multiplies =
        row.name == "matmul" || row.name == "convolution" || row.name == "attention";
    if (row.name == "communication" || row.name == "unclassified") continue;
    (multiplies ? arithmetic : memory) += row.share_pct;
  }
  bound.by_class = true;
  bound.memory = memory > arithmetic;
  bound.evidence = fmt::format(
      "matrix products, convolutions and attention take {} of the GPU time, all other kernels {}",
      FormatPercent(arithmetic), FormatPercent(memory));
  return bound;
}

}  // namespace

Causes FindCauses(const Evidence& evidence) {
  Causes causes;
  const StepBreakdown& breakdown = *evidence.report.breakdown;
  const BreakdownParts& step = breakdown.step;
  const BreakdownParts& gpu = breakdown.gpu;
  causes.communication = gpu.communication;
  causes.input = step.data_wait + gpu.host_to_device;
  causes.callback = step.callback;
  causes.gpu = gpu.Sum() - gpu.communication - gpu.host_to_device;

  // What is left is GPU idle outside the loader and callbacks: first what blocking calls caused,
  // then late launches.
  const Interval span = evidence.steps.spans[evidence.median_step];
  const IntervalSet whole = IntervalSet::UnionOf({span});
  IntervalSet idle = Subtract(whole, evidence.steps.busy);
  idle = Subtract(Subtract(idle, evidence.host.data_wait), evidence.host.callback);
  const auto take = [&idle](const IntervalSet& cause) {
    const DurationNs taken = Intersect(idle, cause).Measure();
    idle = Subtract(idle, cause);
    return taken;
  };
  IntervalSet sync_idle;  // In order, as calls are priced.
  for (const PricedSync& sync : evidence.syncs) sync_idle.AppendInOrder(sync.gpu_idle);
  causes.synchronization = take(sync_idle);
  causes.host = take(evidence.steps.late);
  causes.queue = take(evidence.steps.queued);
  causes.unknown = idle.Measure();
  return causes;
}

Bottleneck Judge(const Evidence& evidence, const Causes& causes) {
  const TraceReport& report = evidence.report;
  const DurationNs wall = report.breakdown->wall;
  Bottleneck verdict;

  struct Candidate {
    Verdict verdict;
    DurationNs time;
    std::string_view meaning;
  };
  std::array candidates = {
      Candidate{Verdict::kHost, causes.host,
                "the GPU is idle because the next kernel is not launched yet"},
      Candidate{Verdict::kInput, causes.input,
                "the GPU waits for data: the loader, or copies to the device"},
      Candidate{Verdict::kCommunication, causes.communication,
                "communication that no compute hides"},
      Candidate{Verdict::kCallback, causes.callback, "the GPU is idle while a callback runs"},
      Candidate{Verdict::kSynchronization, causes.synchronization,
                "the GPU ran dry under a call that waits for it, and idles until the host launches "
                "again"},
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.time > b.time; });
  const Candidate& first = candidates[0];
  const Candidate& second = candidates[1];
  const DurationNs waiting = wall - causes.gpu;
  const DurationNs by_profiler =
      std::min(causes.host, report.steps.list[evidence.median_step].profiler_cost);
  const double true_waiting_pct = SharePct(waiting - by_profiler, wall - by_profiler);
  const double first_pct = SharePct(first.time, wall);
  const double unknown_pct = SharePct(causes.unknown, wall);

  const auto evidence_of = [&](const Candidate& c) {
    return fmt::format("{} of the {} step ({}): {}", FormatMs(c.time), FormatMs(wall),
                       FormatPercent(SharePct(c.time, wall)), c.meaning);
  };
  const std::string busy_line =
      fmt::format("the GPU is busy {} of the {} step ({})", FormatMs(report.breakdown->gpu.Sum()),
                  FormatMs(wall), FormatPercent(SharePct(report.breakdown->gpu.Sum(), wall)));

  if (first_pct >= kClearPct &&
      static_cast<double>(first.time.ns()) >= kLeadFactor * static_cast<double>(second.time.ns())) {
    verdict.verdict = first.verdict;
    verdict.share_pct = first_pct;
    verdict.confidence = first_pct >= kSurePct ? "high" : "medium";
    verdict.evidence = {evidence_of(first), busy_line};
    if (first.verdict == Verdict::kHost) {
      const StepRow& step = report.steps.list[evidence.median_step];
      const DurationNs kept = std::max(first.time - step.profiler_cost, DurationNs(0));
      const DurationNs without_profiler = wall - (first.time - kept);
      const double kept_pct = SharePct(kept, without_profiler);
      verdict.evidence.push_back(fmt::format(
          "on average {:.1f} launched kernels wait in the queue when the next is launched: the "
          "host {} ahead",
          step.queue_depth_mean, step.queue_depth_mean < 10 ? "never gets far" : "is at times"));
      verdict.evidence.push_back(
          fmt::format("recording took the host roughly {} of that step; without it the host would "
                      "still hold about {}",
                      FormatMs(step.profiler_cost), FormatPercent(kept_pct)));
      if (kept_pct < kClearPct) {
        verdict.verdict = Verdict::kBalanced;
        verdict.share_pct.reset();
        verdict.confidence = "low";
        verdict.evidence.push_back(
            "so the trace cannot tell whether the unprofiled job waits for the host: time it "
            "without "
            "the profiler");
      } else if (kept_pct < kSurePct) {
        verdict.confidence = "medium";
      }
    }
  } else if (unknown_pct >= kClearPct && causes.unknown >= first.time) {
    verdict.evidence = {
        busy_line,
        fmt::format(
            "{} of the {} step ({}): the GPU is idle, and what it waits for was not recorded",
            FormatMs(causes.unknown), FormatMs(wall), FormatPercent(unknown_pct))};
    return verdict;
  } else if (true_waiting_pct < kClearPct) {
    const GpuBound bound = BoundOfGpuWork(report);
    verdict.verdict = bound.memory ? Verdict::kGpuMemory : Verdict::kGpuCompute;
    verdict.share_pct = SharePct(causes.gpu, wall);
    verdict.confidence = bound.by_class ? "medium" : "high";
    verdict.evidence = {busy_line, bound.evidence};
    if (SharePct(waiting, wall) >= kClearPct) {
      verdict.confidence = "low";
      verdict.evidence.push_back(fmt::format(
          "{} of the waiting is about what recording cost the host", FormatMs(by_profiler)));
    }
  } else {
    verdict.verdict = Verdict::kBalanced;
    verdict.confidence = "medium";
    verdict.evidence = {busy_line};
    const Candidate queue = {Verdict::kBalanced, causes.queue,
                             "the GPU is idle although the next kernel is launched"};
    std::array all = {first, second, queue};
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.time > b.time; });
    for (const Candidate& candidate : all) {
      if (candidate.time.ns() > 0) verdict.evidence.push_back(evidence_of(candidate));
    }
  }
  // Inferred steps and damage lower what can be said.
  if (report.steps.source == StepSource::kInferred && report.steps.confidence != "high")
    verdict.confidence = "low";
  if (report.health.grade == 'C') verdict.confidence = "low";
  return verdict;
}

}  // namespace headroom
