#include "analysis/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <vector>

#include "analysis/format.h"
#include "base/statistics.h"

namespace headroom {
namespace {

// The rules of the verdict, in one place. Shares are of the median step.
//
// 1. Where idle of unknown cause holds at least kClearPct and no less than any known wait, the
//    verdict is unknown.
// 2. A cause other than GPU work is the verdict when it holds at least kClearPct and at least
//    kLeadFactor times the next such cause.
// 3. GPU work is the verdict when all waiting together, less what recording cost the host, stays
//    below kClearPct. It is bound by memory when more GPU time is (by the roofline; where shapes
//    are missing, by class) bound by memory than by arithmetic.
// 4. Everything else is balanced.
//
// The profiler slows the host. A step is called host-bound only if the host would still hold
// kClearPct of it without the rough cost of recording (profiler_cost.h); if it would not, nobody
// can tell from the trace alone: balanced, at low confidence.
constexpr double kClearPct = 15;
constexpr double kSurePct = 30;  // From here on the confidence in a wait is high.
constexpr double kLeadFactor = 1.3;
constexpr double kMostPct = 50;  // Of the GPU time: enough to speak for it.

/// When copies to the host run and nothing else does, in the median step.
DurationNs ExposedCopiesToHost(const Evidence& evidence, Interval span) {
  const auto& tasks = evidence.store.gpu_tasks;
  IntervalSet copies, others;
  for (std::size_t i = 0; i < tasks.rows() && tasks.start[i] < span.end; ++i) {
    const Interval time = {tasks.start[i], evidence.store.TaskEnd(GpuTaskId(i))};
    if (time.end <= span.start || !IsWorkOf(evidence.store, evidence.steps.process, GpuTaskId(i)))
      continue;
    (tasks.copy[i] == CopyKind::kDeviceToHost ? copies : others).AppendInOrder(time);
  }
  return Subtract(copies, others).MeasureWithin(span);
}

std::string Holds(DurationNs time, DurationNs wall, std::string_view meaning) {
  return fmt::format("{} of the {} step ({}): {}", FormatMs(time), FormatMs(wall),
                     FormatPercent(SharePct(time, wall)), meaning);
}

/// A cause other than GPU work.
struct Wait {
  Verdict verdict;
  DurationNs time;
  std::string_view meaning;
};

/// Longest first.
std::array<Wait, 5> RankWaits(const Causes& causes) {
  std::array<Wait, 5> waits = {{
      {Verdict::kHost, causes.host, "the GPU is idle because the next kernel is not launched yet"},
      {Verdict::kInput, causes.input,
       "the GPU waits for data: the loader, or copies to the device"},
      {Verdict::kCommunication, causes.communication, "communication that no compute hides"},
      {Verdict::kCallback, causes.callback, "the GPU is idle while a callback runs"},
      {Verdict::kSynchronization, causes.synchronization,
       "the GPU ran dry under a call that waits for it, and idles until the host launches again"},
  }};
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.time > b.time; });
  return waits;
}

std::string BusyLine(const StepBreakdown& breakdown) {
  const DurationNs busy = breakdown.gpu.Sum();
  return fmt::format("the GPU is busy {} of the {} step ({})", FormatMs(busy),
                     FormatMs(breakdown.wall), FormatPercent(SharePct(busy, breakdown.wall)));
}

/// Rule 2 for the host: recording may be what it is busy with.
Bottleneck JudgeHost(const StepRow& step, const StepBreakdown& breakdown, const Wait& host) {
  const DurationNs wall = breakdown.wall;
  Bottleneck verdict;
  verdict.verdict = Verdict::kHost;
  verdict.share_pct = SharePct(host.time, wall);
  const DurationNs kept = std::max(host.time - step.profiler_cost, DurationNs(0));
  const double kept_pct = SharePct(kept, wall - (host.time - kept));
  verdict.confidence = kept_pct >= kSurePct ? "high" : "medium";
  verdict.evidence = {
      Holds(host.time, wall, host.meaning), BusyLine(breakdown),
      fmt::format("on average {:.1f} launches wait in the queue when the next is made, at most {}: "
                  "the host {} ahead",
                  step.queue_depth_mean, step.queue_depth_max,
                  step.queue_depth_max < 10    ? "never gets far"
                  : step.queue_depth_mean < 10 ? "is seldom"
                                               : "is at times"),
      fmt::format(
          "recording took the host roughly {} of that step; without it the host would still "
          "hold about {}",
          FormatMs(step.profiler_cost), FormatPercent(kept_pct))};
  if (kept_pct >= kClearPct) return verdict;
  verdict.verdict = Verdict::kBalanced;
  verdict.share_pct.reset();
  verdict.confidence = "low";
  verdict.balance =
      fmt::format("the host holds {} of it, but without the cost of recording only about {}",
                  FormatPercent(SharePct(host.time, wall)), FormatPercent(kept_pct));
  verdict.evidence.emplace_back(
      "so the trace cannot tell whether the unprofiled job waits for the host: time it without the "
      "profiler");
  return verdict;
}

/// Sets the verdict to what `arithmetic` and `memory`, shares of the GPU time, say.
void ChooseGpuBound(double arithmetic, double memory, Bottleneck& verdict) {
  verdict.verdict = memory > arithmetic ? Verdict::kGpuMemory : Verdict::kGpuCompute;
  const double more = std::max(arithmetic, memory);
  const double less = std::min(arithmetic, memory);
  verdict.confidence = more < kLeadFactor * less ? "low" : more >= kMostPct ? "high" : "medium";
}

/// Rule 3: whether GPU work is bound by memory or by arithmetic.
Bottleneck JudgeGpu(const TraceReport& report, const Causes& causes) {
  const StepBreakdown& breakdown = *report.breakdown;
  const Efficiency& use = report.efficiency;
  Bottleneck verdict;
  verdict.share_pct = SharePct(causes.gpu, breakdown.wall);
  verdict.evidence = {BusyLine(breakdown)};
  if (use.compute_bound_pct && *use.compute_bound_pct + *use.memory_bound_pct >= kMostPct) {
    ChooseGpuBound(*use.compute_bound_pct, *use.memory_bound_pct, verdict);
    verdict.evidence.push_back(fmt::format(
        "by the roofline of {}, {} of the GPU time is bound by arithmetic and {} by memory",
        use.device_name, FormatPercent(*use.compute_bound_pct),
        FormatPercent(*use.memory_bound_pct)));
    return verdict;
  }
  double arithmetic = 0, memory = 0;
  for (const ClassRow& row : report.classes) {
    if (!row.family || row.family == WorkFamily::kCommunication ||
        row.family == WorkFamily::kUnclassified) {
      continue;
    }
    (MultipliesMatrices(*row.family) ? arithmetic : memory) += row.share_pct;
  }
  verdict.evidence.push_back(fmt::format(
      "matrix products, convolutions and attention take {} of the GPU time, other known kernels {}",
      FormatPercent(arithmetic), FormatPercent(memory)));
  if (arithmetic + memory < kMostPct) {
    verdict.share_pct.reset();
    verdict.evidence.emplace_back(
        "the rest is no kernel that the rules know, so what bounds the GPU's work cannot be told");
    return verdict;
  }
  ChooseGpuBound(arithmetic, memory, verdict);
  if (verdict.confidence == "high") verdict.confidence = "medium";  // A class is a guess.
  return verdict;
}

/// Rule 4, with the longest waits as evidence.
Bottleneck JudgeBalanced(const StepBreakdown& breakdown, const Causes& causes,
                         std::span<const Wait> waits) {
  std::vector<Wait> all(waits.begin(), waits.end());
  all.push_back(
      {Verdict::kBalanced, causes.queue, "the GPU is idle although the next kernel is launched"});
  all.push_back({Verdict::kBalanced, causes.device_to_host,
                 "copies to the host during which the GPU computes nothing"});
  std::stable_sort(all.begin(), all.end(),
                   [](const Wait& a, const Wait& b) { return a.time > b.time; });
  Bottleneck verdict;
  verdict.verdict = Verdict::kBalanced;
  verdict.confidence = "medium";
  verdict.evidence = {BusyLine(breakdown)};
  if (SharePct(waits[0].time, breakdown.wall) >= kClearPct) {
    verdict.balance = "no cause is clearly larger than the next";
  } else if (SharePct(all[0].time, breakdown.wall) >= kClearPct) {
    // No wait: idle in the queue, or copies to the host.
    verdict.balance = std::string(all[0].meaning);
  } else {
    verdict.balance = "many causes hold a little of it each";
  }
  constexpr std::size_t kMostShown = 3;
  for (std::size_t i = 0; i < kMostShown && all[i].time.ns() > 0; ++i)
    verdict.evidence.push_back(Holds(all[i].time, breakdown.wall, all[i].meaning));
  return verdict;
}

Bottleneck Choose(const Evidence& evidence, const Causes& causes) {
  const StepBreakdown& breakdown = *evidence.report.breakdown;
  const StepRow& step = evidence.report.steps.list[evidence.median_step];
  const DurationNs wall = breakdown.wall;
  const std::array<Wait, 5> waits = RankWaits(causes);
  const Wait& first = waits[0];

  if (SharePct(causes.unknown, wall) >= kClearPct && causes.unknown >= first.time) {
    Bottleneck verdict;
    verdict.evidence = {
        BusyLine(breakdown),
        Holds(causes.unknown, wall, "the GPU is idle, and what it waits for was not recorded")};
    return verdict;
  }
  if (SharePct(first.time, wall) >= kClearPct &&
      static_cast<double>(first.time.ns()) >=
          kLeadFactor * static_cast<double>(waits[1].time.ns())) {
    if (first.verdict == Verdict::kHost) return JudgeHost(step, breakdown, first);
    Bottleneck verdict;
    verdict.verdict = first.verdict;
    verdict.share_pct = SharePct(first.time, wall);
    verdict.confidence = *verdict.share_pct >= kSurePct ? "high" : "medium";
    verdict.evidence = {Holds(first.time, wall, first.meaning), BusyLine(breakdown)};
    return verdict;
  }
  const DurationNs waiting = wall - causes.gpu;
  const DurationNs by_profiler = std::min(causes.host, step.profiler_cost);
  if (SharePct(waiting - by_profiler, wall - by_profiler) >= kClearPct)
    return JudgeBalanced(breakdown, causes, waits);
  Bottleneck verdict = JudgeGpu(evidence.report, causes);
  if (verdict.verdict != Verdict::kUnknown && SharePct(waiting, wall) >= kClearPct) {
    verdict.confidence = "low";
    verdict.evidence.push_back(fmt::format(
        "{} of the waiting is about what recording cost the host", FormatMs(by_profiler)));
  }
  return verdict;
}

/// How many devices run the work of the median step.
std::size_t CountDevices(const Evidence& evidence) {
  std::set<DeviceId> devices;
  for (std::size_t i = 0; i < evidence.store.gpu_tasks.rows(); ++i) {
    if (evidence.steps.step_of_task[i] == static_cast<std::int32_t>(evidence.median_step))
      devices.insert(evidence.store.DeviceOf(GpuTaskId(i)));
  }
  return devices.size();
}

}  // namespace

Causes FindCauses(const Evidence& evidence) {
  Causes causes;
  const StepBreakdown& breakdown = *evidence.report.breakdown;
  const Interval span = evidence.steps.spans[evidence.median_step];
  const BreakdownParts& step = breakdown.step;
  const BreakdownParts& gpu = breakdown.gpu;
  causes.communication = gpu.communication;
  causes.input = step.data_wait + gpu.host_to_device;
  causes.callback = step.callback;
  causes.device_to_host = ExposedCopiesToHost(evidence, span);
  causes.gpu = gpu.Sum() - gpu.communication - gpu.host_to_device - causes.device_to_host;

  // What is left is GPU idle outside the loader and callbacks: first what blocking calls caused,
  // then late launches.
  IntervalSet idle = Subtract(IntervalSet::UnionOf({span}), evidence.steps.busy);
  idle = Subtract(Subtract(idle, evidence.host.data_wait), evidence.host.callback);
  const auto take = [&idle](const IntervalSet& cause) {
    IntervalSet taken = Intersect(idle, cause);
    idle = Subtract(idle, cause);
    return taken;
  };
  IntervalSet sync_idle;  // In order, as calls are priced.
  for (const PricedSync& sync : evidence.syncs) sync_idle.AppendInOrder(sync.gpu_idle);
  causes.synchronization = take(sync_idle).Measure();
  causes.late = take(evidence.steps.late);
  causes.host = causes.late.Measure();
  causes.held = take(evidence.steps.queued);
  causes.queue = causes.held.Measure();
  causes.unknown = idle.Measure();
  return causes;
}

Bottleneck JudgeHostOnly(const Evidence& evidence) {
  const StepBreakdown& breakdown = *evidence.report.breakdown;
  const BreakdownParts& step = breakdown.step;
  std::array<Wait, 3> waits = {{
      {Verdict::kInput, step.data_wait + step.host_to_device,
       "the loop waits for its batch, or moves it"},
      {Verdict::kCommunication, step.communication, "the loop waits for other ranks"},
      {Verdict::kCallback, step.callback, "a callback runs"},
  }};
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.time > b.time; });
  const Wait& first = waits[0];
  Bottleneck verdict;
  verdict.host_only = true;
  if (SharePct(first.time, breakdown.wall) >= kClearPct &&
      static_cast<double>(first.time.ns()) >=
          kLeadFactor * static_cast<double>(waits[1].time.ns())) {
    verdict.verdict = first.verdict;
    verdict.share_pct = SharePct(first.time, breakdown.wall);
    verdict.confidence = *verdict.share_pct >= kSurePct ? "medium" : "low";
    verdict.evidence = {Holds(first.time, breakdown.wall, first.meaning),
                        "no GPU work was recorded: this is the host's clock, and a GPU that works "
                        "meanwhile would hide some of it"};
    return verdict;
  }
  verdict.evidence = {
      "no GPU work was recorded, so nothing can be said about what the GPU waits for"};
  if (first.time.ns() > 0)
    verdict.evidence.push_back(Holds(first.time, breakdown.wall, first.meaning));
  return verdict;
}

bool HostRunsOn(const StepRow& step) {
  constexpr double kFarLonger = 2;
  return step.host &&
         static_cast<double>(step.host->ns()) > kFarLonger * static_cast<double>(step.wall.ns());
}

Bottleneck Judge(const Evidence& evidence, const Causes& causes) {
  const TraceReport& report = evidence.report;
  Bottleneck verdict = Choose(evidence, causes);
  if (verdict.verdict == Verdict::kUnknown) return verdict;
  // Inferred steps and damage lower what can be said.
  const bool guessed_steps =
      report.steps.source == StepSource::kInferred && report.steps.confidence != "high";
  if (guessed_steps || report.health.grade == 'C') verdict.confidence = "low";
  if (const StepRow& step = report.steps.list[evidence.median_step]; HostRunsOn(step)) {
    verdict.confidence = "low";
    verdict.evidence.push_back(
        fmt::format("the host is in step {} for {}: its GPU work ends early in that time, and what "
                    "follows is in no figure here",
                    step.index, FormatMs(*step.host)));
  }
  if (const std::size_t devices = CountDevices(evidence); devices > 1) {
    verdict.confidence = "low";
    verdict.evidence.push_back(fmt::format(
        "the step runs on {} GPUs of one process, and idle means that none of them works",
        devices));
  }
  return verdict;
}

}  // namespace headroom
