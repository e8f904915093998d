#include "analysis/verdict/bottleneck.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "analysis/steps/step_time.h"
#include "base/statistics.h"
#include "render/number_format.h"
#include "store/trace_formats.h"

namespace headroom {
namespace {

// The rules of the verdict. Shares are relative to the mean of all whole steps, so that waits in
// bursts count. Without steps, they are relative to the stretch. One slow step among five or more
// does not decide the verdict; the other steps do.
//
// 1. If idle time of unknown cause takes at least kClearPct and at least as much as any known wait,
//    the verdict is unknown. Exception: exposed communication of at least kClearPct that also
//    outlasts the other GPU work. It is then the verdict, at low confidence, because kernels alone
//    show no other wait.
// 2. A cause other than GPU work is the verdict if it takes at least kClearPct and at least
//    kLeadFactor times the next such cause.
// 3. GPU work is the verdict if all waits together, without the host's cost of recording, stay
//    below kClearPct. It is also the verdict, at low confidence, if the GPU works twice as long as
//    it waits and no cause of waiting reaches kClearPct. It is memory-bound if more GPU time is
//    limited by memory than by arithmetic: by the roofline, or without shapes by kernel class.
// 4. Otherwise the verdict is balanced.
//
// The profiler slows the host. A step is host-bound only if the host would still take kClearPct of
// it without the rough cost of recording (profiler_cost.h). Otherwise the trace does not decide:
// the verdict is balanced, at low confidence.
constexpr double kClearPct = 15;
constexpr double kSurePct = 30;  // At least this share gives high confidence in a wait.
constexpr double kLeadFactor = 1.3;
constexpr std::int64_t kGpuLead = 2;
constexpr double kMajorityPct = 50;  // At least this share represents the whole.

/// Returns the times in which only copies to the host run.
IntervalSet ExposedCopiesToHost(const Evidence& evidence) {
  const auto& tasks = evidence.store.gpu_tasks;
  IntervalSet copies, others;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const Interval time = {tasks.start[i], evidence.store.TaskEnd(GpuTaskId(i))};
    if (!IsWorkOf(evidence.store, evidence.steps.process, GpuTaskId(i))) continue;
    (tasks.copy[i] == CopyKind::kDeviceToHost ? copies : others).AppendInOrder(time);
  }
  return Subtract(copies, others);
}

constexpr DurationNs CauseTimes::*kCauses[] = {
    &CauseTimes::gpu,      &CauseTimes::communication,   &CauseTimes::input,
    &CauseTimes::callback, &CauseTimes::synchronization, &CauseTimes::device_to_host,
    &CauseTimes::host,     &CauseTimes::queue,           &CauseTimes::unknown};

/// Returns the mean of the counted rows. Its causes sum to `wall`, the mean of the same steps.
CauseTimes MeanOf(std::span<const CauseTimes> rows, const std::vector<bool>& counted,
                  DurationNs wall) {
  const auto count = std::count(counted.begin(), counted.end(), true);
  CauseTimes mean;
  DurationNs left = wall;
  DurationNs CauseTimes::*largest = kCauses[0];
  for (const auto cause : kCauses) {
    DurationNs sum;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (counted[i]) sum += rows[i].*cause;
    }
    mean.*cause = DurationNs(sum.ns() / count);
    left -= mean.*cause;
    if (mean.*cause > mean.*largest) largest = cause;
  }
  mean.*largest += left;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (counted[i]) mean.stalled += rows[i].stalled;
  }
  mean.stalled = DurationNs(mean.stalled.ns() / count);
  return mean;
}

/// The step that the verdict judges: the mean of all judged steps, or of the typical ones.
struct MeanStep {
  const StepBreakdown& breakdown;
  const CauseTimes& causes;
  DurationNs profiler_cost{};
  double queue_depth_mean = 0;
  std::int64_t queue_depth_max = 0;
};

MeanStep MeanStepOf(const Evidence& evidence, const StepBreakdown& breakdown,
                    const CauseTimes& causes, const std::vector<bool>& counted) {
  MeanStep mean{.breakdown = breakdown, .causes = causes};
  double depth = 0, count = 0;
  DurationNs cost;
  for (std::size_t i = 0; i < evidence.rows.size(); ++i) {
    if (!counted[i]) continue;
    const StepRow& row = evidence.steps.steps.list[evidence.rows[i]];
    cost += row.profiler_cost;
    depth += row.queue_depth_mean;
    mean.queue_depth_max = std::max(mean.queue_depth_max, row.queue_depth_max);
    ++count;
  }
  mean.profiler_cost =
      DurationNs(static_cast<std::int64_t>(static_cast<double>(cost.ns()) / count));
  mean.queue_depth_mean = depth / count;
  return mean;
}

/// Returns "8.37 ms of the 19.11 ms step (43.8 %)".
std::string Part(DurationNs time, const StepBreakdown& breakdown) {
  return fmt::format("{} of the {} {} ({})", FormatTime(time), FormatTime(breakdown.wall),
                     breakdown.is_stretch ? "recording" : "step",
                     FormatPercent(SharePct(time, breakdown.wall)));
}

std::string Holds(DurationNs time, const StepBreakdown& breakdown, std::string_view meaning) {
  return fmt::format("{}: {}", Part(time, breakdown), meaning);
}

}  // namespace

std::optional<double> TurningPoint(const DeviceSpec& device) {
  constexpr double kGigaInTera = 1000;
  const std::optional<double> peak =
      device.bf16_tensor_tflops ? device.bf16_tensor_tflops : device.fp16_tensor_tflops;
  if (!peak || !device.memory_bandwidth_gbs) return std::nullopt;
  return *peak * kGigaInTera / *device.memory_bandwidth_gbs;
}

std::string UnmarkedText(const Evidence& evidence) {
  const HostEventId longest = evidence.unmarked.longest;
  return fmt::format(
      "no range marks the loader: this is the time between the optimizer and the next pass, where "
      "loops fetch a batch{}",
      longest.valid()
          ? fmt::format(" (mostly {})",
                        evidence.store.Text(evidence.store.host_events.name[longest.index()]))
          : "");
}

namespace {

/// A cause other than GPU work.
struct Wait {
  Verdict verdict;
  DurationNs time;
  std::string_view meaning;
  std::string_view short_name = {};
};

/// Returns the waits, longest first.
std::array<Wait, 5> RankWaits(const CauseTimes& causes) {
  std::array<Wait, 5> waits = {{
      {Verdict::kHost, causes.host, "the GPU is idle because the next kernel is not launched yet",
       "waits for launches"},
      {Verdict::kInput, causes.input, "the GPU waits for data: the loader, or copies to the device",
       "waits for data"},
      {Verdict::kCommunication, causes.communication, "exposed communication",
       "exposed communication"},
      {Verdict::kCallback, causes.callback, "the GPU is idle while a callback runs", "callbacks"},
      {Verdict::kSynchronization, causes.synchronization, "the GPU is idle after a blocking call",
       "blocking calls"},
  }};
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.time > b.time; });
  return waits;
}

std::string BusyLine(const StepBreakdown& breakdown) {
  return fmt::format("the GPU is busy for {}", Part(breakdown.gpu.Sum(), breakdown));
}

/// Applies rule 2 to the host, whose work may partly be profiler overhead.
Bottleneck JudgeHost(const MeanStep& step, const Wait& host) {
  const StepBreakdown& breakdown = step.breakdown;
  const DurationNs wall = breakdown.wall;
  Bottleneck verdict;
  verdict.verdict = Verdict::kHost;
  verdict.share_pct = SharePct(host.time, wall);
  const DurationNs kept = std::max(host.time - step.profiler_cost, DurationNs(0));
  const double kept_pct = SharePct(kept, wall - (host.time - kept));
  verdict.confidence = kept_pct >= kSurePct ? "high" : "medium";
  verdict.evidence = {
      Holds(host.time, breakdown, host.meaning), BusyLine(breakdown),
      fmt::format(
          "the launch queue holds {:.1f} launches on average, at most {}: the host {} ahead",
          step.queue_depth_mean, step.queue_depth_max,
          step.queue_depth_max < 10    ? "never gets far"
          : step.queue_depth_mean < 10 ? "is rarely"
                                       : "is sometimes"),
      fmt::format("recording caused roughly {} of the idle time; without it about {} would remain",
                  FormatTime(step.profiler_cost), FormatPercent(kept_pct))};
  if (kept_pct >= kClearPct) return verdict;
  verdict.verdict = Verdict::kBalanced;
  verdict.share_pct.reset();
  verdict.LowerConfidence("recording may cause the wait");
  verdict.balance = fmt::format(
      "waits for launches take {} of it, but only about {} without the cost of recording",
      FormatPercent(SharePct(host.time, wall)), FormatPercent(kept_pct));
  verdict.evidence.emplace_back(
      "it is unknown whether the unprofiled job waits for the host: time the job without the "
      "profiler");
  return verdict;
}

/// Sets the verdict from `arithmetic` and `memory`, shares of the GPU time.
void ChooseGpuBound(double arithmetic, double memory, Bottleneck& verdict) {
  verdict.verdict = memory > arithmetic ? Verdict::kGpuMemory : Verdict::kGpuCompute;
  const double more = std::max(arithmetic, memory);
  const double less = std::min(arithmetic, memory);
  verdict.confidence = more >= kMajorityPct ? "high" : "medium";
  if (more < kLeadFactor * less)
    verdict.LowerConfidence("compute and memory limit similar shares of the GPU time");
}

/// Number of rows in the matrix products of a language model's iteration: one per token.
struct FewRows {
  double rows = 0;
  double turning_point = 0;  ///< FLOP per byte of weights; below this, memory is the limit.
};
/// Returns the rows if there are so few that reading the weights takes longer than the arithmetic.
/// A product of n rows does n FLOP per byte of 16-bit weights, regardless of its other sizes. 8-bit
/// weights double both the FLOP per byte and the peak, so the comparison stays the same.
std::optional<FewRows> FindFewRows(const Evidence& evidence) {
  const std::vector<StepKindRow>& kinds = evidence.report.steps.kinds;
  if (kinds.empty() || !kinds.front().tokens) return std::nullopt;
  const std::optional<double> known =
      evidence.device != nullptr ? TurningPoint(*evidence.device) : std::nullopt;
  const FewRows few = {.rows = *kinds.front().tokens,
                       .turning_point = known.value_or(kMinTurningPoint)};
  return few.rows < few.turning_point ? std::optional(few) : std::nullopt;
}

/// Returns "hardware counters, while the GPU is busy: tensor cores 12.0 %, memory 71.0 %"; empty
/// without counters.
std::string UnitsLine(const UnitUse& units) {
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<double>& pct) {
    if (pct) parts.push_back(fmt::format("{} {}", name, FormatPercent(*pct)));
  };
  add("multiprocessors", units.sm_active_pct);
  add("tensor cores", units.tensor_active_pct);
  add("memory", units.dram_active_pct);
  if (parts.empty()) return {};
  return fmt::format("hardware counters, while the GPU is busy: {}", fmt::join(parts, ", "));
}

/// Applies rule 3: decides between memory-bound and compute-bound GPU work.
Bottleneck JudgeGpu(const Evidence& evidence, const MeanStep& step) {
  const TraceReport& report = evidence.report;
  const StepBreakdown& breakdown = step.breakdown;
  const Efficiency& use = report.efficiency;
  Bottleneck verdict;
  verdict.share_pct = SharePct(step.causes.gpu, breakdown.wall);
  verdict.evidence = {BusyLine(breakdown)};
  if (const std::string line = UnitsLine(use.units); !line.empty())
    verdict.evidence.push_back(line);
  if (use.compute_bound_pct && *use.compute_bound_pct + *use.memory_bound_pct >= kMajorityPct) {
    ChooseGpuBound(*use.compute_bound_pct, *use.memory_bound_pct, verdict);
    verdict.evidence.push_back(fmt::format(
        "by the roofline of {}, {} of the GPU time is compute-bound and {} memory-bound",
        use.device_name, FormatPercent(*use.compute_bound_pct),
        FormatPercent(*use.memory_bound_pct)));
    return verdict;
  }
  // Hardware counters are more reliable than kernel classes.
  if (const UnitUse& units = use.units;
      std::max(units.tensor_active_pct.value_or(0), units.dram_active_pct.value_or(0)) >=
      kMajorityPct) {
    ChooseGpuBound(units.tensor_active_pct.value_or(0), units.dram_active_pct.value_or(0), verdict);
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
  if (arithmetic + memory < kMajorityPct) {
    verdict.share_pct.reset();
    verdict.evidence.emplace_back(
        "no rule classifies the other kernels, so the limit of the GPU's work is unknown");
    return verdict;
  }
  if (const std::optional<FewRows> few = FindFewRows(evidence)) {
    verdict.evidence.push_back(
        fmt::format("the products have {:.0f} rows, one per token: {:.0f} FLOP per byte of "
                    "weights; below {:.0f}, memory is the limit",
                    few->rows, few->rows, few->turning_point));
    ChooseGpuBound(0, arithmetic + memory, verdict);
  } else {
    ChooseGpuBound(arithmetic, memory, verdict);
  }
  // A kernel class only suggests the limit.
  if (verdict.confidence == "high") verdict.confidence = "medium";
  return verdict;
}

/// Applies rule 4, with the longest waits as evidence.
Bottleneck JudgeBalanced(const StepBreakdown& breakdown, const CauseTimes& causes,
                         std::span<const Wait> waits) {
  std::vector<Wait> all(waits.begin(), waits.end());
  all.push_back({Verdict::kBalanced, causes.queue,
                 "the GPU is idle although the next kernel is launched",
                 "launched kernels that do not start"});
  all.push_back({Verdict::kBalanced, causes.device_to_host, "exposed copies to the host",
                 "copies to the host"});
  std::stable_sort(all.begin(), all.end(),
                   [](const Wait& a, const Wait& b) { return a.time > b.time; });
  Bottleneck verdict;
  verdict.verdict = Verdict::kBalanced;
  verdict.confidence = "medium";
  verdict.evidence = {BusyLine(breakdown)};
  if (SharePct(waits[0].time, breakdown.wall) >= kClearPct) {
    const auto share = [&](const Wait& wait) {
      return fmt::format("{} {}", wait.short_name,
                         FormatPercent(SharePct(wait.time, breakdown.wall)));
    };
    verdict.balance = fmt::format("the largest: {}, {}", share(all[0]), share(all[1]));
  } else if (SharePct(all[0].time, breakdown.wall) >= kClearPct) {
    // The largest cause is not a wait, but idle time in the queue or copies to the host.
    verdict.balance = fmt::format("the largest cause: {}", all[0].meaning);
  } else {
    verdict.balance = "many causes each take a little";
  }
  constexpr std::size_t kMaxShown = 3;
  for (std::size_t i = 0; i < kMaxShown && all[i].time.ns() > 0; ++i)
    verdict.evidence.push_back(Holds(all[i].time, breakdown, all[i].meaning));
  return verdict;
}

Bottleneck Choose(const Evidence& evidence, const MeanStep& step) {
  const StepBreakdown& breakdown = step.breakdown;
  const CauseTimes& causes = step.causes;
  const DurationNs wall = breakdown.wall;
  const std::array<Wait, 5> waits = RankWaits(causes);
  const Wait& first = waits[0];

  if (SharePct(causes.unknown, wall) >= kClearPct && causes.unknown >= first.time) {
    Bottleneck verdict;
    verdict.evidence = {
        BusyLine(breakdown),
        Holds(causes.unknown, breakdown, "the GPU is idle, and the trace does not show why")};
    if (first.verdict == Verdict::kCommunication && SharePct(first.time, wall) >= kClearPct &&
        first.time > causes.gpu) {
      verdict.verdict = first.verdict;
      verdict.share_pct = SharePct(first.time, wall);
      verdict.LowerConfidence("the trace does not show why the GPU idles");
      verdict.evidence.insert(verdict.evidence.begin(),
                              Holds(first.time, breakdown, first.meaning));
    }
    return verdict;
  }
  if (SharePct(first.time, wall) >= kClearPct &&
      static_cast<double>(first.time.ns()) >=
          kLeadFactor * static_cast<double>(waits[1].time.ns())) {
    if (first.verdict == Verdict::kHost) return JudgeHost(step, first);
    Bottleneck verdict;
    verdict.verdict = first.verdict;
    verdict.share_pct = SharePct(first.time, wall);
    verdict.confidence = *verdict.share_pct >= kSurePct ? "high" : "medium";
    verdict.evidence = {Holds(first.time, breakdown, first.meaning), BusyLine(breakdown)};
    if (first.verdict == Verdict::kInput && !evidence.unmarked.empty()) {
      verdict.evidence.push_back(UnmarkedText(evidence));
      verdict.confidence = "medium";  // Only the position in the loop identifies the loader.
    }
    if (first.verdict == Verdict::kSynchronization && causes.IsMostlyStalled()) {
      const std::string_view call = LongestStall(evidence);
      verdict.LowerConfidence(fmt::format("{} blocks for {} although no recorded work delays it",
                                          call, FormatTime(causes.stalled)));
      verdict.evidence.push_back(
          fmt::format("{} blocks for {} although no recorded work delays it: work from before the "
                      "recording, or of another process, may run at that time",
                      call, FormatTime(causes.stalled)));
    }
    return verdict;
  }
  const DurationNs waiting = wall - causes.gpu;
  const DurationNs by_profiler = std::min(causes.host, step.profiler_cost);
  const bool waits_little = SharePct(waiting - by_profiler, wall - by_profiler) < kClearPct;
  const DurationNs longest =
      std::max({first.time, causes.queue, causes.device_to_host, causes.unknown});
  const bool gpu_leads =
      SharePct(longest, wall) < kClearPct && causes.gpu.ns() >= kGpuLead * waiting.ns();
  if (!waits_little && !gpu_leads) return JudgeBalanced(breakdown, causes, waits);
  Bottleneck verdict = JudgeGpu(evidence, step);
  if (verdict.verdict != Verdict::kUnknown && SharePct(waiting, wall) >= kClearPct) {
    verdict.LowerConfidence("the GPU also waits");
    verdict.evidence.push_back(
        waits_little
            ? fmt::format("recording explains about {} of the waiting", FormatTime(by_profiler))
            : Holds(
                  waiting, breakdown,
                  fmt::format("the GPU does not compute, for several reasons; the largest takes {}",
                              FormatPercent(SharePct(longest, wall)))));
  }
  return verdict;
}

/// Returns the number of devices that run the steps' work.
std::size_t CountDevices(const Evidence& evidence) {
  std::set<DeviceId> devices;
  for (std::size_t i = 0; i < evidence.store.gpu_tasks.rows(); ++i) {
    if (evidence.steps.step_of_task[i] != StepAnalysis::kNoStep)
      devices.insert(evidence.store.DeviceOf(GpuTaskId(i)));
  }
  return devices.size();
}

/// Returns the verdict on the mean step. If outliers change that verdict, returns the verdict on
/// the mean of the typical steps.
Bottleneck ChooseOfMost(const Evidence& evidence, const Causes& causes) {
  const std::vector<bool> all(evidence.rows.size(), true);
  Bottleneck verdict =
      Choose(evidence, MeanStepOf(evidence, *evidence.report.breakdown, causes, all));
  const std::vector<bool> usual = UsualOf(evidence);
  if (usual == all) return verdict;
  std::vector<StepBreakdown> others;
  DurationNs of_slow;
  std::vector<std::int64_t> slow;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (usual[i]) {
      others.push_back(evidence.breakdowns[i]);
      continue;
    }
    of_slow += evidence.breakdowns[i].wall;
    slow.push_back(evidence.steps.steps.list[evidence.rows[i]].index);
  }
  const StepBreakdown breakdown = MeanOf(others);
  const CauseTimes times = MeanOf(causes.by_row, usual, breakdown.wall);
  Bottleneck of_others = Choose(evidence, MeanStepOf(evidence, breakdown, times, usual));
  if (of_others.verdict == verdict.verdict) return verdict;
  const bool one = slow.size() == 1;
  const std::string longer =
      fmt::format("{} {} {} {}, the other {} steps {} on average", one ? "step" : "steps",
                  fmt::join(slow, " and "), one ? "takes" : "together take", FormatTime(of_slow),
                  others.size(), FormatTime(breakdown.wall));
  of_others.evidence.insert(of_others.evidence.begin(),
                            fmt::format("{}; the verdict covers those {}", longer, others.size()));
  if (of_others.verdict != Verdict::kUnknown) of_others.LowerConfidence(longer);
  of_others.of = "the mean step excluding slow steps";
  return of_others;
}

}  // namespace

std::string_view LongestStall(const Evidence& evidence) {
  IntervalSet steps;
  for (const std::size_t row : evidence.rows) steps.AppendInOrder(evidence.steps.spans[row]);
  std::string_view call;
  DurationNs longest;
  for (const PricedSync& sync : evidence.syncs) {
    const DurationNs idle = steps.MeasureWithin(sync.gpu_idle);
    if (!sync.is_stall || idle <= longest) continue;
    longest = idle;
    call = evidence.store.Text(evidence.store.host_events.name[sync.call.index()]);
  }
  return call;
}

Causes FindCauses(const Evidence& evidence) {
  std::vector<Interval> spans;
  for (const std::size_t row : evidence.rows) spans.push_back(evidence.steps.spans[row]);
  const IntervalSet to_host = ExposedCopiesToHost(evidence);
  // GPU idle time outside the loader and callbacks is due to blocking calls first, then to late
  // launches.
  IntervalSet idle = Subtract(IntervalSet::UnionOf(spans), evidence.steps.busy);
  idle = Subtract(Subtract(idle, evidence.host.data_wait), evidence.host.callback);
  const auto take = [&idle](const IntervalSet& cause) {
    IntervalSet taken = Intersect(idle, cause);
    idle = Subtract(idle, cause);
    return taken;
  };
  IntervalSet sync_idle;  // In order, because PriceSyncs() returns calls in order.
  IntervalSet stall_idle;
  for (const PricedSync& sync : evidence.syncs) {
    sync_idle.AppendInOrder(sync.gpu_idle);
    if (sync.is_stall) stall_idle.AppendInOrder(sync.gpu_idle);
  }
  Causes causes;
  const IntervalSet synchronization = take(sync_idle);
  const IntervalSet stalls = Intersect(synchronization, stall_idle);
  causes.late = take(evidence.steps.late);
  causes.held = take(evidence.steps.queued);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const BreakdownParts& step = evidence.breakdowns[i].step;
    const BreakdownParts& gpu = evidence.breakdowns[i].gpu;
    CauseTimes& times = causes.by_row.emplace_back();
    times.communication = gpu.communication;
    times.input = step.data_wait + gpu.host_to_device;
    times.callback = step.callback;
    times.device_to_host = to_host.MeasureWithin(spans[i]);
    times.gpu = gpu.Sum() - gpu.communication - gpu.host_to_device - times.device_to_host;
    times.synchronization = synchronization.MeasureWithin(spans[i]);
    times.host = causes.late.MeasureWithin(spans[i]);
    times.stalled = stalls.MeasureWithin(spans[i]);
    times.queue = causes.held.MeasureWithin(spans[i]);
    times.unknown = idle.MeasureWithin(spans[i]);
  }
  static_cast<CauseTimes&>(causes) =
      MeanOf(causes.by_row, std::vector<bool>(spans.size(), true), evidence.report.breakdown->wall);
  return causes;
}

CauseTimes CausesInUsualSteps(const Evidence& evidence, const Causes& causes) {
  const std::vector<bool> usual = UsualOf(evidence);
  if (causes.by_row.size() != usual.size() || std::ranges::count(usual, false) == 0) return causes;
  CauseTimes times;
  for (const auto cause : kCauses) {
    for (std::size_t i = 0; i < usual.size(); ++i) {
      if (usual[i]) times.*cause += causes.by_row[i].*cause;
    }
    times.*cause = evidence.PerStep(times.*cause);
  }
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (usual[i]) times.stalled += causes.by_row[i].stalled;
  }
  times.stalled = evidence.PerStep(times.stalled);
  return times;
}

std::vector<bool> UsualOf(const Evidence& evidence) {
  const std::vector<bool> usual = UsualSteps(evidence.steps.steps);
  std::vector<bool> of_rows;
  for (const std::size_t row : evidence.rows) of_rows.push_back(usual[row]);
  return of_rows;
}

namespace {

/// Returns true if the job runs on the CPU: operators were recorded, none belongs to a GPU library,
/// and the trace names no GPU. A host-only profile of a GPU job also contains operators.
bool ComputesOnCpu(const Evidence& evidence) {
  if (!evidence.report.input.devices.empty()) return false;
  constexpr std::string_view kOfGpus[] = {"cudnn", "miopen", "cuda", "flash", "triton"};
  const auto& events = evidence.store.host_events;
  std::set<StringId> operators;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] == HostEventKind::kOperator) operators.insert(events.name[row]);
  }
  return !operators.empty() && std::none_of(operators.begin(), operators.end(), [&](StringId id) {
    const std::string_view name = evidence.store.Text(id);
    // A name without "::" may be a compiler's pass, which need not run:
    // "pass.move_constructors_to_cuda".
    if (name.find("::") == std::string_view::npos && !name.starts_with("triton_")) return false;
    return std::any_of(std::begin(kOfGpus), std::end(kOfGpus), [&](std::string_view word) {
      return name.find(word) != std::string_view::npos;
    });
  });
}

bool HasTensorFlowOperators(const Evidence& evidence) {
  const TraceStore& store = evidence.store;
  if (!IsOfXla(store.metadata.recorded_as())) return false;
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] == HostEventKind::kOperator &&
        IsTensorFlowOperator(store.Text(events.name[row])))
      return true;
  }
  return false;
}

}  // namespace

DurationNs OperatorTime(const Evidence& evidence) {
  const TraceStore& store = evidence.store;
  // Other frameworks' operators have a phase, except on feeders, for which the loop does not wait.
  if (!IsOfXla(store.metadata.recorded_as())) return DurationNs(0);
  const auto& events = store.host_events;
  std::vector<Interval> spans, operators;
  for (const std::size_t row : evidence.rows) spans.push_back(evidence.steps.spans[row]);
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const ProcessId process = store.threads.process[events.thread[row].index()];
    if (events.kind[row] == HostEventKind::kOperator &&
        (!evidence.steps.process.valid() || process == evidence.steps.process))
      operators.push_back({events.start[row], store.HostEnd(HostEventId(row))});
  }
  IntervalSet time =
      Intersect(IntervalSet::UnionOf(std::move(operators)), IntervalSet::UnionOf(std::move(spans)));
  const HostActivity& host = evidence.host;
  for (const IntervalSet* const other :
       {&host.data_wait, &host.callback, &host.host_to_device, &host.communication})
    time = Subtract(time, *other);
  return evidence.PerStep(time.Measure());
}

Bottleneck JudgeHostOnly(const Evidence& evidence) {
  const StepBreakdown& breakdown = *evidence.report.breakdown;
  const BreakdownParts& step = breakdown.step;
  std::array<Wait, 3> waits = {{
      {Verdict::kInput, step.data_wait + step.host_to_device,
       "the loop waits for its batch or copies it"},
      {Verdict::kCommunication, step.communication, "the loop waits for other ranks"},
      {Verdict::kCallback, step.callback, "a callback runs"},
  }};
  std::stable_sort(waits.begin(), waits.end(),
                   [](const Wait& a, const Wait& b) { return a.time > b.time; });
  const Wait& first = waits[0];
  Bottleneck verdict;
  verdict.host_only = true;
  verdict.of = evidence.rows.size() > 1 ? "the mean step" : "the step";
  const bool on_cpu = evidence.report.health.grade < 'D' && ComputesOnCpu(evidence);
  DurationNs computes = on_cpu ? step.forward + step.backward + step.optimizer : DurationNs(0);
  std::string_view what = step.backward.ns() > 0 ? "forward, backward and optimizer on the CPU"
                                                 : "the forward pass on the CPU";
  if (on_cpu && SharePct(computes, breakdown.wall) < kMajorityPct) {
    computes = OperatorTime(evidence);  // XLA's operators often have no phase.
    what = "operators on the CPU";
  }
  // Compute that takes most of the step is the verdict, even if a shorter wait is clear.
  if (SharePct(computes, breakdown.wall) >= kMajorityPct) {
    verdict.verdict = Verdict::kCpuCompute;
    verdict.share_pct = SharePct(computes, breakdown.wall);
    verdict.confidence = "medium";
    verdict.evidence = {Holds(computes, breakdown, what), "no GPU work was launched"};
    if (HasTensorFlowOperators(evidence)) {
      verdict.LowerConfidence("a GPU may run operators that this trace attributes to the CPU");
      verdict.evidence.emplace_back(
          "TensorFlow's operations do not name their device: if a GPU ran them, this trace does "
          "not show it");
    }
    if (first.time.ns() > 0)
      verdict.evidence.push_back(Holds(first.time, breakdown, first.meaning));
    return verdict;
  }
  if (SharePct(first.time, breakdown.wall) >= kClearPct &&
      static_cast<double>(first.time.ns()) >=
          kLeadFactor * static_cast<double>(waits[1].time.ns())) {
    verdict.verdict = first.verdict;
    verdict.share_pct = SharePct(first.time, breakdown.wall);
    verdict.confidence = "medium";
    if (*verdict.share_pct < kSurePct)
      verdict.LowerConfidence("GPU work, which was not recorded, may hide the wait");
    verdict.evidence = {
        Holds(first.time, breakdown, first.meaning),
        "no GPU work was recorded: these are host times, and GPU work would hide some of them"};
    if (first.verdict == Verdict::kInput && !evidence.unmarked.empty())
      verdict.evidence.push_back(UnmarkedText(evidence));
    return verdict;
  }
  verdict.evidence = {"no GPU work was recorded, so the GPU's waits are unknown"};
  if (first.time.ns() > 0) verdict.evidence.push_back(Holds(first.time, breakdown, first.meaning));
  return verdict;
}

bool HostRunsOn(const StepRow& step) {
  constexpr double kFarLonger = 2;
  return step.host &&
         static_cast<double>(step.host->ns()) > kFarLonger * static_cast<double>(step.wall.ns());
}

Bottleneck Judge(const Evidence& evidence, const Causes& causes) {
  const TraceReport& report = evidence.report;
  Bottleneck verdict = ChooseOfMost(evidence, causes);
  if (verdict.of.empty()) {
    verdict.of = evidence.is_stretch        ? "the recording"
                 : evidence.rows.size() > 1 ? "the mean step"
                                            : "the step";
  }
  if (verdict.verdict == Verdict::kUnknown) return verdict;
  // Inferred steps and damage lower the confidence.
  const bool guessed_steps =
      report.steps.source == StepSource::kInferred && report.steps.confidence != "high";
  if (guessed_steps) verdict.LowerConfidence("the steps are inferred");
  if (report.health.grade == 'C') verdict.LowerConfidence("the trace is incomplete");
  if (evidence.store.metadata.computed_starts)
    verdict.LowerConfidence("start times were computed, not recorded");
  if (const StepRow& step = evidence.steps.steps.list[evidence.median_step]; HostRunsOn(step)) {
    const std::string longer =
        fmt::format("in step {} the host works for {}, far longer than the GPU", step.index,
                    FormatTime(*step.host));
    verdict.LowerConfidence(longer);
    verdict.evidence.push_back(longer +
                               "; no figure here includes the host's time after the GPU work ends");
  }
  if (const std::size_t devices = CountDevices(evidence); devices > 1) {
    verdict.LowerConfidence("one process uses several GPUs");
    verdict.evidence.push_back(fmt::format(
        "the step runs on {} GPUs of one process; idle means that all of them are idle", devices));
  }
  return verdict;
}

}  // namespace headroom
