#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "analysis/loop/callbacks.h"
#include "analysis/loop/own_time.h"
#include "analysis/loop/stacks.h"
#include "analysis/steps/step_time.h"
#include "analysis/verdict/bottleneck.h"
#include "analysis/verdict/late_idle.h"
#include "analysis/verdict/remedies.h"
#include "base/statistics.h"
#include "render/number_format.h"
#include "store/trace_formats.h"

namespace headroom {
namespace {

// Each rule is one function. It returns nullopt if its evidence is missing or its finding is too
// small to matter.

/// A finding and the time of the mean step that it accounts for, which ranks it.
struct Ranked {
  Finding finding;
  DurationNs holds;
};

constexpr double kWorthMentioningPct = 2;

DurationNs ShareOf(DurationNs whole, double percent) {
  return DurationNs(static_cast<std::int64_t>(static_cast<double>(whole.ns()) * percent / 100.0));
}

DurationNs Wall(const Evidence& evidence) { return evidence.report.breakdown->wall; }

/// Returns "per step", or "in total" for a stretch.
std::string_view Each(const Evidence& evidence) {
  return evidence.is_stretch ? "in total" : "per step";
}

/// Returns the judged row whose `time` is nearest to the mean, as an example.
template <typename TimeOf>
std::size_t ExampleOf(const Evidence& evidence, DurationNs mean, TimeOf time_of) {
  std::size_t best = 0;
  const auto distance = [&](std::size_t i) { return std::abs((time_of(i) - mean).ns()); };
  for (std::size_t i = 1; i < evidence.rows.size(); ++i) {
    if (distance(i) < distance(best)) best = i;
  }
  if (2 * time_of(best).ns() >= mean.ns()) return evidence.rows[best];
  // A few rows account for nearly all of this time.
  for (std::size_t i = 0; i < evidence.rows.size(); ++i) {
    if (time_of(i) > time_of(best)) best = i;
  }
  return evidence.rows[best];
}

bool HasGpuWork(const Evidence& evidence) { return !evidence.report.gpu_time.empty(); }

/// Returns true if a remedy only removes GPU idle time.
bool IsOfIdle(Remedy remedy) {
  switch (remedy) {
    case Remedy::kLaunchless:
    case Remedy::kFastHost:
    case Remedy::kDataWait:
    case Remedy::kCallbacks:
    case Remedy::kSyncs:
    case Remedy::kKernelGaps:
    case Remedy::kQueueGaps:
      return true;
    default:
      return false;
  }
}

/// Builds a finding that accounts for `holds` of the mean step and is shown in `section`. Returns
/// nullopt if the share is below kWorthMentioningPct.
std::optional<Ranked> About(const Evidence& evidence, DurationNs holds, std::string id,
                            std::string title, std::string section, std::string figure,
                            std::string action, Remedy remedy) {
  const double share = SharePct(holds, Wall(evidence));
  if (share < kWorthMentioningPct) return std::nullopt;
  Ranked ranked;
  ranked.holds = holds;
  ranked.finding.id = std::move(id);
  ranked.finding.title = std::move(title);
  ranked.finding.share_pct = share;
  ranked.finding.check_section = std::move(section);
  ranked.finding.figure = std::move(figure);
  ranked.finding.action = std::move(action);
  ranked.finding.remedy = remedy;
  if (HasGpuWork(evidence) && IsOfIdle(remedy)) ranked.finding.idle = holds;
  ranked.finding.of_stretch = evidence.is_stretch;
  return ranked;
}

/// Returns the rough cost of recording the host in the mean step.
DurationNs MeanProfilerCost(const Evidence& evidence) {
  DurationNs cost;
  for (const std::size_t row : evidence.rows) cost += evidence.steps.steps.list[row].profiler_cost;
  return evidence.PerStep(cost);
}

struct StepCounts {
  std::int64_t tasks = 0, kernels = 0, optimizer_kernels = 0, short_kernels = 0;
  bool fused_optimizer = false;
};

/// Counts the tasks of the mean step.
StepCounts CountTasks(const Evidence& evidence) {
  constexpr DurationNs kShort(5000);
  StepCounts counts;
  const auto& tasks = evidence.store.gpu_tasks;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!evidence.Judges(GpuTaskId(i))) continue;
    ++counts.tasks;
    if (tasks.kind[i] != GpuTaskKind::kKernel) continue;
    ++counts.kernels;
    if (tasks.duration[i] < kShort) ++counts.short_kernels;
    if (evidence.attribution.Of(GpuTaskId(i)).phase != Phase::kOptimizer) continue;
    ++counts.optimizer_kernels;
    if (evidence.names.Kernel(tasks.name[i]).family == WorkFamily::kOptimizer)
      counts.fused_optimizer = true;
  }
  const auto steps = static_cast<std::int64_t>(evidence.rows.size());
  for (std::int64_t* const count :
       {&counts.tasks, &counts.kernels, &counts.optimizer_kernels, &counts.short_kernels})
    *count = (*count + steps / 2) / steps;
  return counts;
}

/// Describes the host's work during the idle time of one step: "during that idle time the host
/// spends ...". Lists only the parts that matter.
std::string WhatTheHostDoes(const Evidence& evidence, std::size_t step, const LateIdle& idle) {
  constexpr double kMattersPct = 1;
  std::string spends;
  const auto add = [&](DurationNs time, std::string_view where) {
    if (SharePct(time, idle.all) < kMattersPct) return;
    spends += fmt::format("{}{} {}", spends.empty() ? "" : ", ", FormatTime(time), where);
  };
  add(idle.launches, "in launch calls");
  add(idle.calls, "in other calls");
  add(idle.operators, "in operators");
  add(idle.ranges, "in Python code or ranges");
  add(idle.nothing, "in unrecorded code");
  if (evidence.rows.size() == 1) return "during that idle time the host spends " + spends;
  return fmt::format("step {1} has {0} of this idle time: the host spends {2}",
                     FormatTime(idle.all), evidence.steps.steps.list[step].index, spends);
}

/// Returns the action for idle time that is not due to many launches.
std::string LateAction(const Evidence& evidence, const LateIdle& idle) {
  const auto explains = [&](DurationNs time) { return 2 * time.ns() >= idle.all.ns(); };
  if (explains(idle.longest_time)) {
    const HostRoles roles =
        evidence.names.Roles(evidence.store.host_events.name[idle.longest.index()]);
    const bool launches = roles.Has(HostRole::kKernelLaunch) || roles.Has(HostRole::kGraphLaunch);
    return launches ? "record after a few warm-up steps: the first launch of a kernel loads its "
                      "code. Investigate the call if it is slow in every step"
                    : "check whether every step needs the most expensive event";
  }
  if (explains(idle.nothing)) {
    return evidence.report.lines.empty()
               ? fmt::format(
                     "find out what the host does in that time: record Python frames ({}), or mark "
                     "suspects with record_function",
                     RemedyOf(ImportIssue::kNoStacks, evidence.store.metadata.recorded_as()))
               : "find out what the host does in that time: mark suspects with record_function";
  }
  return explains(idle.most_expensive_time)
             ? "check whether the most expensive event must run so often"
             : "start with the most expensive host call";
}

std::optional<Ranked> LateLaunches(const Evidence& evidence, const Causes& causes) {
  const StepCounts counts = CountTasks(evidence);
  const std::string figure = FormatMs(causes.host);
  // The job cannot save the time that only recording takes.
  const DurationNs recording = MeanProfilerCost(evidence);
  const std::size_t example =
      ExampleOf(evidence, causes.host, [&](std::size_t i) { return causes.by_row[i].host; });
  const LateIdle idle = MeasureLateIdle(
      evidence.store, evidence.names, evidence.steps, example,
      Intersect(causes.late, IntervalSet::UnionOf({evidence.steps.spans[example]})));
  const bool many_launches = 2 * idle.in_short_gaps.ns() >= idle.all.ns();
  auto ranked = About(
      evidence, std::max(causes.host - recording, DurationNs(0)), "late-launches",
      fmt::format(
          fmt::runtime(many_launches ? "the GPU idles {} {} because the host launches too slowly"
                                     : "the GPU idles {} {} waiting for the next launch"),
          figure, Each(evidence)),
      "bottleneck", figure,
      many_launches ? "launch fewer kernels: a larger batch, torch.compile, CUDA graphs or a fused "
                      "optimizer (fused=True)"
                    : LateAction(evidence, idle),
      many_launches ? Remedy::kLaunchless : Remedy::kFastHost);
  if (!ranked) return ranked;
  const auto mean = [](DurationNs sum, std::int64_t count) {
    return FormatTime(DurationNs(sum.ns() / std::max<std::int64_t>(count, 1)));
  };
  ranked->finding.idle = causes.host;
  std::vector<std::string>& why = ranked->finding.evidence;
  why.push_back(
      fmt::format("{} in the {}{}; kernels under 5 us: {} of {}", Plural(counts.tasks, "GPU task"),
                  evidence.is_stretch ? "recording" : "step",
                  counts.tasks > 1 ? ", one every " + mean(Wall(evidence), counts.tasks) : "",
                  FormatCount(counts.short_kernels), FormatCount(counts.kernels)));
  why.push_back(WhatTheHostDoes(evidence, example, idle));
  if (many_launches) {
    if (idle.launch_calls > 0) {
      why.push_back(fmt::format(
          "a launch call takes the host {} on average{}", mean(idle.launch_time, idle.launch_calls),
          idle.operators > idle.launches ? "; the surrounding operators take longer" : ""));
    }
  } else if (SharePct(idle.most_expensive_time, idle.all) >= kWorthMentioningPct) {
    // A single event that accounts for most of its name's time is more specific than the name.
    const bool single = 2 * idle.longest_time.ns() >= idle.most_expensive_time.ns();
    const StringId name =
        single ? evidence.store.host_events.name[idle.longest.index()] : idle.most_expensive;
    ranked->finding.place = evidence.store.Text(name);
    why.push_back(fmt::format(
        "most expensive: {}, {} ({})", ranked->finding.place,
        FormatTime(single ? idle.longest_time : idle.most_expensive_time),
        single ? "once" : fmt::format("{} times", FormatCount(idle.most_expensive_count))));
  }
  if (recording.ns() > 0) {
    why.push_back(
        fmt::format("recording caused roughly {} of that idle time; the share excludes it",
                    FormatTime(std::min(recording, causes.host))));
  }
  return ranked;
}

std::optional<Ranked> DataWait(const Evidence& evidence, const Causes&) {
  const DurationNs wait = evidence.report.breakdown->step.data_wait;
  // Outlier steps have a separate finding.
  const std::vector<bool> usual = UsualOf(evidence);
  DurationNs unusual;
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (!usual[i]) unusual += evidence.breakdowns[i].step.data_wait;
  }
  if (unusual.ns() > 0 && 2 * evidence.PerStep(unusual).ns() >= wait.ns()) return std::nullopt;
  const std::string figure = FormatMs(wait);
  // `headroom record` records the work of the loader's workers, and shows whether a loop has such a
  // loader.
  const bool loader_is_known = evidence.store.strings.Find("setting.loader.workers").valid();
  const bool is_own = evidence.store.metadata.recorded_as() == kPerfettoFormat;
  auto ranked =
      About(evidence, wait, "data-wait",
            fmt::format(fmt::runtime(HasGpuWork(evidence)
                                         ? "the GPU idles {} {} while the loop waits for data"
                                         : "the loop waits {} {} for data"),
                        figure, Each(evidence)),
            "breakdown", figure,
            loader_is_known ? "run headroom data on this file: it shows the slow stage, and "
                              "how many workers and which prefetch_factor suffice"
            : !evidence.unmarked.empty()
                ? "prefetch batches on another thread, or make fetching cheaper; to confirm that "
                  "this time is fetching, mark it with record_function(\"dataloader_next\")"
            : is_own ? "prefetch batches on another thread, or make fetching cheaper: regions "
                       "inside it show what is slow"
                     : "use more DataLoader workers (num_workers), persistent_workers=True, a "
                       "larger prefetch_factor, pin_memory=True, or cheaper preprocessing; "
                       "headroom record and headroom data show which helps",
            Remedy::kDataWait);
  if (ranked) {
    ranked->finding.evidence = {!evidence.unmarked.empty() ? UnmarkedText(evidence)
                                : HasGpuWork(evidence)
                                    ? "time in the loop's data range without a running GPU task"
                                    : "time inside the loop's data range"};
  }
  return ranked;
}

std::optional<Ranked> Callbacks(const Evidence& evidence, const Causes&) {
  constexpr double kWorthAFinding = 3;
  const DurationNs time = evidence.report.breakdown->step.callback;
  const CallbackRow* most_expensive = MostExpensiveCallback(evidence.report.callbacks);
  if (most_expensive == nullptr || SharePct(time, Wall(evidence)) <= kWorthAFinding)
    return std::nullopt;
  const std::string figure = FormatMs(time);
  auto ranked =
      About(evidence, time, "callbacks",
            fmt::format(fmt::runtime(HasGpuWork(evidence)
                                         ? "the GPU idles {} {} while the trainer's callbacks run"
                                         : "the trainer's callbacks take {} {}"),
                        figure, Each(evidence)),
            "breakdown", figure,
            "run the most expensive callback only every N steps, move its I/O and computing to "
            "another thread, and keep .item() out of it",
            Remedy::kCallbacks);
  if (!ranked) return ranked;
  ranked->finding.place = most_expensive->callback;
  ranked->finding.evidence = {fmt::format(
      "most expensive: {}{}, {} self time over the trace in {}", most_expensive->callback,
      most_expensive->event.empty() ? "" : " on the event " + most_expensive->event,
      FormatTime(most_expensive->self), Plural(most_expensive->count, "call"))};
  if (most_expensive->share_pct) {
    ranked->finding.evidence.push_back(
        fmt::format("it takes {} of the steps' time, regardless of GPU work",
                    FormatPercent(*most_expensive->share_pct)));
  }
  return ranked;
}

std::optional<Ranked> ExposedCommunication(const Evidence& evidence, const Causes& causes) {
  const std::string figure = FormatMs(causes.communication);
  auto ranked =
      About(evidence, causes.communication, "exposed-communication",
            fmt::format("communication is exposed for {} {}", figure, Each(evidence)), "breakdown",
            figure,
            "overlap it with the backward pass (DistributedDataParallel buckets, bucket_cap_mb), "
            "communicate less "
            "(gradient accumulation, 16-bit gradients), or find the rank that arrives last",
            Remedy::kCommunication);
  if (!ranked) return ranked;
  for (const GpuTimeRow& row : evidence.report.gpu_time) {
    if (!row.overlap_communication_pct) continue;
    ranked->finding.evidence.push_back(
        fmt::format("device {}: compute hides {} of the {} of communication in the trace",
                    row.device ? fmt::format("{}", *row.device) : "unknown",
                    FormatPercent(*row.overlap_communication_pct), FormatTime(row.communication)));
  }
  ranked->finding.evidence.emplace_back("waiting for other ranks also counts as communication");
  return ranked;
}

/// Reports the lines that hold half of the `other` time of the step, by samples of the stack.
std::optional<Ranked> CostlyLines(const Evidence& evidence, DurationNs other) {
  constexpr std::size_t kMaxNamed = 4;
  constexpr std::int64_t kMinSamples = 20;  // Half of fewer would be within 22 % of half.
  std::vector<StackRow> lines = ByOwnLine(evidence.report.stacks);
  std::erase_if(lines, [](const StackRow& row) { return row.part != "other"; });
  std::int64_t samples = 0, held = 0;
  for (const StackRow& line : lines) samples += line.samples;
  if (samples < kMinSamples) return std::nullopt;
  std::vector<std::string> names;
  for (const StackRow& line : lines) {
    if (2 * held >= samples || names.size() == kMaxNamed) break;
    held += line.samples;
    names.push_back(line.stack);
  }
  if (2 * held < samples) return std::nullopt;
  const std::string figure = FormatMs(other);
  auto ranked =
      About(evidence, DurationNs(other.ns() * held / samples), "costly-line",
            fmt::format("{} per step is neither loading nor training, mostly in {}", figure,
                        fmt::join(names, ", ")),
            "breakdown", figure,
            fmt::format("check whether every step needs {}, or whether another thread can run {}",
                        names.size() == 1 ? "this line" : "these lines",
                        names.size() == 1 ? "it" : "them"),
            Remedy::kOwnTime);
  if (!ranked) return ranked;
  ranked->finding.place =
      names.size() == 1 ? names[0] : fmt::format("{} and {} more", names[0], names.size() - 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    ranked->finding.evidence.push_back(fmt::format("{}: {} of {} samples of the stack in that time",
                                                   names[i], lines[i].samples, samples));
  }
  return ranked;
}

/// Reports the program's work in the step outside loading and training, if no GPU work is known.
std::optional<Ranked> OtherWork(const Evidence& evidence, const Causes&) {
  constexpr double kWorthAFinding = 10, kHoldsTheStep = 50;
  const BreakdownParts& step = evidence.report.breakdown->step;
  const DurationNs without_phase =
      OperatorTime(evidence) - step.forward - step.backward - step.optimizer;
  const DurationNs other = step.other - std::clamp(without_phase, DurationNs(0), step.other);
  const double share = SharePct(other, Wall(evidence));
  if (share < kWorthAFinding || evidence.store.steps.rows() == 0) return std::nullopt;
  const std::string figure = FormatMs(other);
  const std::size_t example = ExampleOf(
      evidence, step.other, [&](std::size_t i) { return evidence.breakdowns[i].step.other; });
  const std::vector<OwnTime> regions =
      RegionsByOwnTime(evidence.store, evidence.names, evidence.attribution,
                       evidence.store.steps.thread[0], evidence.steps.hosts[example]);
  // The fewest regions that hold half of the time.
  constexpr std::size_t kMaxNamed = 4;
  std::size_t named = 0;
  DurationNs own;
  while (named < std::min(kMaxNamed, regions.size()) && 2 * own.ns() < other.ns())
    own += regions[named++].own;
  if (named > 0 && 2 * own.ns() >= other.ns()) {
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < named; ++i) names.push_back(evidence.store.Text(regions[i].name));
    // Without the regions, their own time would go, not all of `other`.
    auto ranked =
        About(evidence, std::min(own, other), "costly-region",
              fmt::format("{} per step is neither loading nor training, mostly in region{} {}",
                          figure, named == 1 ? "" : "s", fmt::join(names, ", ")),
              "breakdown", figure,
              fmt::format("check whether every step needs {}, or whether another thread can run {}",
                          named == 1 ? "this region" : "these regions", named == 1 ? "it" : "them"),
              Remedy::kOwnTime);
    if (ranked) {
      ranked->finding.place =
          named == 1 ? std::string(names[0]) : fmt::format("{} and {} more", names[0], named - 1);
      for (std::size_t i = 0; i < named; ++i) {
        ranked->finding.evidence.push_back(fmt::format(
            "{}: {} self time in step {}, in {}", names[i], FormatTime(regions[i].own),
            evidence.steps.steps.list[example].index, Plural(regions[i].count, "region")));
      }
    }
    return ranked;
  }
  if (auto lines = CostlyLines(evidence, other)) return lines;
  if (share < kHoldsTheStep) return std::nullopt;
  const bool is_own = evidence.store.metadata.recorded_as() == kPerfettoFormat;
  auto ranked = About(
      evidence, other, "unmarked-time",
      fmt::format("{} per step is neither loading nor training, and no region explains it", figure),
      "breakdown", figure,
      is_own ? "mark suspects: headroom.scope(\"NAME\"), in C++ HEADROOM_SCOPE(\"NAME\"); for a "
               "trainer's callbacks headroom.callbacks.wrap()"
             : fmt::format("mark suspects with record_function, or record Python frames ({})",
                           RemedyOf(ImportIssue::kNoStacks, evidence.store.metadata.recorded_as())),
      Remedy::kOwnTime);
  if (ranked && !regions.empty()) {
    ranked->finding.evidence = {fmt::format("largest region: {}, {} self time",
                                            evidence.store.Text(regions.front().name),
                                            FormatTime(regions.front().own))};
  }
  return ranked;
}

/// Copies of one direction in the mean step.
struct CopyCounts {
  std::int64_t copies = 0, pageable = 0, bytes = 0;
};

CopyCounts CountCopies(const Evidence& evidence, CopyKind direction) {
  CopyCounts counts;
  const auto& tasks = evidence.store.gpu_tasks;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.copy[i] != direction || !evidence.Judges(GpuTaskId(i))) {
      continue;
    }
    ++counts.copies;
    counts.bytes += std::max<std::int64_t>(tasks.bytes[i], 0);
    if (evidence.store.Text(tasks.name[i]).find("Pageable") != std::string_view::npos)
      ++counts.pageable;
  }
  const auto steps = static_cast<std::int64_t>(evidence.rows.size());
  for (std::int64_t* const count : {&counts.copies, &counts.pageable, &counts.bytes})
    *count = (*count + steps / 2) / steps;
  return counts;
}

std::optional<Ranked> ExposedCopies(const Evidence& evidence, CopyKind direction,
                                    DurationNs exposed, std::string_view id,
                                    std::string_view section, std::string_view where,
                                    std::string_view unhidden) {
  const CopyCounts counts = CountCopies(evidence, direction);
  const std::string figure = FormatMs(exposed);
  auto ranked = About(
      evidence, exposed, std::string(id),
      fmt::format("copies to the {2} are exposed for {0} {1}", figure, Each(evidence), where),
      std::string(section), figure,
      counts.pageable > 0 ? "pin the host memory (pin_memory=True) and copy with non_blocking=True"
                          : std::string(unhidden),
      direction == CopyKind::kHostToDevice ? Remedy::kCopiesIn : Remedy::kCopiesOut);
  if (ranked) {
    ranked->finding.evidence = {
        fmt::format("the step copies {} in {}, {} of them with pageable memory",
                    FormatBytes(static_cast<double>(counts.bytes)),
                    Plural(counts.copies, "transfer"), FormatCount(counts.pageable))};
  }
  return ranked;
}

std::optional<Ranked> ExposedCopiesToDevice(const Evidence& evidence, const Causes&) {
  return ExposedCopies(evidence, CopyKind::kHostToDevice,
                       evidence.report.breakdown->gpu.host_to_device, "exposed-copies", "breakdown",
                       "GPU",
                       "copy one batch ahead on a separate stream, or copy less: smaller types, "
                       "preprocessing on the GPU");
}

std::optional<Ranked> ExposedCopiesToHost(const Evidence& evidence, const Causes& causes) {
  return ExposedCopies(evidence, CopyKind::kDeviceToHost, causes.device_to_host,
                       "exposed-copies-to-host", "bottleneck", "host",
                       "copy on a separate stream while the next kernels run, or copy less often");
}

std::optional<Ranked> CostlySyncs(const Evidence& evidence, const Causes& causes) {
  const std::vector<SyncRow>& syncs = evidence.report.syncs;
  const auto most_expensive = std::max_element(
      syncs.begin(), syncs.end(),
      [](const SyncRow& a, const SyncRow& b) { return a.in_mean_step < b.in_mean_step; });
  if (most_expensive == syncs.end()) return std::nullopt;
  const std::string figure = FormatMs(causes.synchronization);
  const bool reads_value = most_expensive->where.find("_local_scalar_dense") != std::string::npos ||
                           most_expensive->where.find("item") != std::string::npos;
  auto ranked = About(
      evidence, causes.synchronization, "costly-syncs",
      fmt::format("the GPU idles {} {} after blocking calls, mostly after {}", figure,
                  Each(evidence), most_expensive->name),
      "bottleneck", figure,
      reads_value
          ? "keep values on the GPU: log loss.detach() and call .item() only every N steps"
          : "remove the call from the loop, or wait for one event instead of all GPU work; avoid "
            ".cpu(), .nonzero() and branches on tensors",
      Remedy::kSyncs);
  if (!ranked) return ranked;
  ranked->finding.place = reads_value ? most_expensive->where : most_expensive->name;
  if (causes.IsMostlyStalled()) {
    const std::string_view call = LongestStall(evidence);
    ranked->finding.id = "stalled-copy";
    ranked->finding.title =
        fmt::format("the GPU idles {} {} after blocking calls, although no recorded work delays {}",
                    figure, Each(evidence), call);
    ranked->finding.action =
        "record several steps after a warm-up: the call may wait for work that was launched before "
        "the recording";
    ranked->finding.remedy = Remedy::kRecordMore;
    ranked->finding.place = call;
  }
  ranked->finding.evidence = {fmt::format(
      "{} of {}{} over the trace", Plural(most_expensive->count, "call"), most_expensive->name,
      most_expensive->where.empty() ? "" : " in " + most_expensive->where)};
  return ranked;
}

/// Returns NAME of the `Optimizer.step#NAME.step` ranges; empty if none was recorded.
std::string OptimizerName(const Evidence& evidence) {
  constexpr std::string_view kPrefix = "Optimizer.step#";
  const auto& events = evidence.store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (!evidence.names.Roles(events.name[row]).Has(HostRole::kOptimizerStep)) continue;
    const std::string_view name = evidence.store.Text(events.name[row]).substr(kPrefix.size());
    return std::string(name.substr(0, name.find('.')));
  }
  return {};
}

std::optional<Ranked> UnfusedOptimizer(const Evidence& evidence, const Causes&) {
  constexpr std::int64_t kManyKernels = 100;
  const StepCounts counts = CountTasks(evidence);
  if (counts.fused_optimizer || counts.optimizer_kernels < kManyKernels) return std::nullopt;
  const DurationNs time = evidence.report.breakdown->step.optimizer;
  const DurationNs busy = evidence.report.breakdown->gpu.optimizer;
  const std::string figure = FormatMs(time);
  // Optimizers of torch.optim that have a fused form.
  constexpr std::string_view kFused[] = {"Adam", "AdamW", "SGD", "Adagrad"};
  const std::string name = OptimizerName(evidence);
  const bool has_fused = std::find(std::begin(kFused), std::end(kFused), name) != std::end(kFused);
  auto ranked =
      About(evidence, time, "unfused-optimizer",
            fmt::format("the optimizer takes {} {} in many small kernels", figure, Each(evidence)),
            "breakdown", figure,
            has_fused ? "construct the optimizer with fused=True (or foreach=True)"
                      : "use a foreach or fused optimizer if one exists, or torch.compile its step",
            Remedy::kOptimizer);
  if (ranked) {
    ranked->finding.evidence = {
        fmt::format("its {} kernels keep the GPU busy for {}; the GPU waits the rest of that time",
                    FormatCount(counts.optimizer_kernels), FormatTime(busy))};
    DurationNs on_host;
    for (const std::size_t row : evidence.rows)
      on_host += evidence.host.optimizer.MeasureWithin(evidence.steps.hosts[row]);
    on_host = evidence.PerStep(on_host);
    if (on_host > time) {
      ranked->finding.evidence.push_back(
          fmt::format("the host spends {} {} on it, partly while the GPU is busy",
                      FormatTime(on_host), Each(evidence)));
    }
    if (!name.empty()) ranked->finding.evidence.push_back("the optimizer is " + name);
  }
  return ranked;
}

/// Returns the maximum that faster GPU work could save per step before the host limits the step.
/// The host's own time is its step without the calls in which it waits for the GPU. Both exclude
/// the rough cost of recording.
DurationNs LeftByTheHost(const Evidence& evidence) {
  // A launch takes microseconds; a far longer one waits for space in the launch queue.
  constexpr DurationNs kBlockedLaunch(100'000);
  const auto& events = evidence.store.host_events;
  std::vector<Interval> blocked;
  for (const PricedSync& sync : evidence.syncs) {
    blocked.push_back({events.start[sync.call.index()], evidence.store.HostEnd(sync.call)});
  }
  const auto& tasks = evidence.store.gpu_tasks;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId launch = tasks.launch[i];
    if (launch.valid() && events.duration[launch.index()] > kBlockedLaunch &&
        IsWorkOf(evidence.store, evidence.steps.process, GpuTaskId(i))) {
      blocked.push_back({events.start[launch.index()], evidence.store.HostEnd(launch)});
    }
  }
  const IntervalSet waiting = IntervalSet::UnionOf(std::move(blocked));
  // Host work after a step's GPU work is part of the next step's time. After the last step, only
  // the typical amount counts.
  const auto end_of_gpu = [&](std::size_t row) {
    const StepRow& step = evidence.steps.steps.list[row];
    return step.start + step.wall;
  };
  const std::size_t last = evidence.rows.back();
  std::vector<DurationNs> behind;
  for (const std::size_t row : evidence.rows) {
    if (row != last) behind.push_back(evidence.steps.hosts[row].end - end_of_gpu(row));
  }
  const DurationNs usual = std::max(UpperMedian(std::move(behind)), DurationNs(0));
  DurationNs own;
  for (const std::size_t row : evidence.rows) {
    Interval host = evidence.steps.steps.list[row].HostWork();
    if (row == last) host.end = std::clamp(end_of_gpu(row) + usual, host.start, host.end);
    own += host.length() - waiting.MeasureWithin(host) - evidence.steps.recording[row];
  }
  const DurationNs unrecorded = Wall(evidence) - MeanProfilerCost(evidence);
  return std::max(unrecorded - std::max(evidence.PerStep(own), DurationNs(0)), DurationNs(0));
}

/// Returns the action for products in `dtype` that do not use the device's tensor cores.
std::string TensorCoreAction(const DeviceSpec& device, std::string_view dtype) {
  if (dtype == "fp16" || dtype == "bf16")
    return "make sizes (batch, channels, vocabulary) multiples of 8 so that kernels can use tensor "
           "cores";
  std::string action;
  if (device.tf32_tensor_tflops && dtype == "fp32")
    action = "call torch.set_float32_matmul_precision('high') (TF32), or ";
  action +=
      device.bf16_tensor_tflops
          ? "use mixed precision: torch.autocast('cuda', dtype=torch.bfloat16)"
          : "use mixed precision: torch.autocast('cuda', dtype=torch.float16) with a GradScaler";
  return action;
}

std::optional<Ranked> IdleTensorCores(const Evidence& evidence, const Causes&) {
  constexpr double kMaxUnknownPct = 20;
  const Efficiency& use = evidence.report.efficiency;
  if (evidence.device == nullptr || !use.tensor_core_used_pct || *use.tensor_core_used_pct > 50 ||
      use.tensor_core_unknown_pct.value_or(0) > kMaxUnknownPct) {
    return std::nullopt;
  }
  // Share of the GPU's work in such kernels, over the whole trace.
  const double unused_pct = *use.tensor_core_eligible_pct *
                            (100 - use.tensor_core_unknown_pct.value_or(0)) / 100 *
                            (100 - *use.tensor_core_used_pct) / 100;
  const DurationNs unused = ShareOf(evidence.report.breakdown->gpu.Sum(), unused_pct);
  const DurationNs left = LeftByTheHost(evidence);
  const std::string figure = FormatPercent(*use.tensor_core_used_pct);
  auto ranked = About(
      evidence, std::min(unused, left), "idle-tensor-cores",
      fmt::format("matrix products and convolutions use tensor cores for {} of their time", figure),
      "efficiency", figure, TensorCoreAction(*evidence.device, use.math_dtype),
      Remedy::kTensorCores);
  if (!ranked) return ranked;
  const bool half = use.math_dtype == "fp16" || use.math_dtype == "bf16";
  const bool tf32 = evidence.device->tf32_tensor_tflops && use.math_dtype == "fp32";
  ranked->finding.place = half   ? "sizes in multiples of 8"
                          : tf32 ? "TF32, mixed precision"
                                 : "mixed precision";
  ranked->finding.evidence = {fmt::format(
      "they take {} of the GPU time, in {}", FormatPercent(*use.tensor_core_eligible_pct),
      use.math_dtype.empty() ? "an unknown type" : use.math_dtype)};
  if (left < unused) {
    ranked->finding.evidence.push_back(
        fmt::format("products and convolutions without tensor cores take {} of the {}; the host's "
                    "own work takes about {}",
                    FormatTime(unused), evidence.is_stretch ? "recording" : "step",
                    FormatTime(Wall(evidence) - left)));
  }
  return ranked;
}

/// Returns the optimizer's share of a family's kernel time in judged steps, because the optimizer
/// has a separate finding.
double OptimizerPart(const Evidence& evidence, std::optional<WorkFamily> family) {
  const auto& tasks = evidence.store.gpu_tasks;
  DurationNs all, of_optimizer;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.kind[i] != GpuTaskKind::kKernel || !evidence.Judges(GpuTaskId(i)) ||
        evidence.names.Kernel(tasks.name[i]).family != family)
      continue;
    all += tasks.duration[i];
    if (evidence.attribution.Of(GpuTaskId(i)).phase == Phase::kOptimizer)
      of_optimizer += tasks.duration[i];
  }
  return all.ns() > 0 ? static_cast<double>(of_optimizer.ns()) / static_cast<double>(all.ns()) : 0;
}

/// Reports a kernel class that moves data rather than computes, without the optimizer's kernels.
std::optional<Ranked> HeavyClass(const Evidence& evidence, std::string_view name,
                                 std::string_view id, std::string_view title,
                                 std::string_view action, Remedy remedy) {
  constexpr double kHeavyPct = 10;
  for (const ClassRow& row : evidence.report.classes) {
    if (row.name != name) continue;
    const double of_optimizer = OptimizerPart(evidence, row.family);
    const double share_pct = row.share_pct * (1 - of_optimizer);
    if (share_pct < kHeavyPct) continue;
    const std::string figure = FormatPercent(row.share_pct);
    auto ranked = About(evidence, ShareOf(evidence.report.breakdown->gpu.Sum(), share_pct),
                        std::string(id), fmt::format(fmt::runtime(title), figure), "classes",
                        figure, std::string(action), remedy);
    if (ranked) {
      ranked->finding.evidence = {
          fmt::format("{}, {} over the trace", Plural(row.count, "kernel"), FormatTime(row.total))};
      if (share_pct < row.share_pct) {
        ranked->finding.evidence.push_back(
            fmt::format("the optimizer runs {} of that", FormatPercent(100 * of_optimizer)));
      }
    }
    return ranked;
  }
  return std::nullopt;
}

std::optional<Ranked> Elementwise(const Evidence& evidence, const Causes&) {
  return HeavyClass(
      evidence, "elementwise", "unfused-elementwise",
      "element-wise kernels take {} of the GPU time; each reads and writes memory again",
      "fuse them: torch.compile, or fused modules (attention: scaled_dot_product_attention)",
      Remedy::kElementwise);
}

std::optional<Ranked> LayoutCopies(const Evidence& evidence, const Causes&) {
  return HeavyClass(
      evidence, "copy", "device-copies",
      "copies, casts and layout changes on the GPU take {} of its time",
      "use channels_last for convolutions; avoid .contiguous() and type changes inside the step",
      Remedy::kDeviceCopies);
}

std::optional<Ranked> QueueGaps(const Evidence& evidence, const Causes& causes) {
  // Starting a kernel takes one to two microseconds.
  constexpr DurationNs kFarMoreThanAStart(20'000);
  std::int64_t long_gaps = 0;
  DurationNs in_long_gaps;
  for (const Interval& gap : causes.held.intervals()) {
    if (gap.length() <= kFarMoreThanAStart) continue;
    ++long_gaps;
    in_long_gaps += gap.length();
  }
  in_long_gaps = evidence.PerStep(in_long_gaps);
  const bool waits = 2 * in_long_gaps.ns() >= causes.queue.ns();
  const std::string figure = FormatMs(causes.queue);
  auto ranked = About(
      evidence, causes.queue, "gaps-between-kernels",
      fmt::format(
          fmt::runtime(waits ? "the GPU idles {} {} although the next kernel is launched"
                             : "the GPU idles {} {} between kernels that are already launched"),
          figure, Each(evidence)),
      "bottleneck", figure,
      waits ? "find out what these kernels wait for: another stream's event, another process on "
              "the GPU, or unrecorded work"
            : "run fewer, larger kernels: torch.compile, CUDA graphs, a larger batch",
      waits ? Remedy::kQueueGaps : Remedy::kKernelGaps);
  if (!ranked) return ranked;
  if (waits) {
    ranked->finding.evidence = {
        fmt::format(
            "{} of that idle time is in {}, {} on average; a kernel takes only 1 to 2 us to start",
            FormatTime(in_long_gaps),
            evidence.rows.size() > 1 ? Plural(long_gaps, "long gap") + " over all steps"
                                     : Plural(long_gaps, "long gap"),
            FormatTime(DurationNs(in_long_gaps.ns() *
                                  static_cast<std::int64_t>(evidence.rows.size()) / long_gaps))),
        "the kernels after these gaps wait for neither their launch nor the previous kernel"};
  } else {
    ranked->finding.evidence = {
        "each kernel takes 1 to 2 us to start, and other streams may delay it"};
  }
  return ranked;
}

/// A cause of slow steps that exceeds the other steps' share, with its action.
struct OutlierCause {
  DurationNs CauseTimes::*time;
  std::string_view does;
  std::string_view action;
};
constexpr OutlierCause kOutlierCauses[] = {
    {&CauseTimes::input, "waits for data",
     "check the loader for the batches of these steps: a slow sample, an epoch's end, restarting "
     "workers (persistent_workers=True) or too little prefetching (prefetch_factor)"},
    {&CauseTimes::host, "GPU idle until the host launches",
     "find out what the host does in these steps: a recompilation, a checkpoint, evaluation, "
     "logging or garbage collection"},
    {&CauseTimes::synchronization, "GPU idle after blocking calls",
     "find out which code waits for the GPU in these steps: logging of values, a checkpoint, "
     "evaluation"},
    {&CauseTimes::callback, "a callback", "call it less often, or on another thread"},
    {&CauseTimes::communication, "exposed communication", "find the rank that arrives last"},
    {&CauseTimes::gpu, "GPU work",
     "find out what only these steps run: evaluation, a less frequent optimizer step, other batch "
     "sizes"},
    {&CauseTimes::device_to_host, "copies to the host",
     "copy on a separate stream while the next kernels run, or copy less often"},
    {&CauseTimes::queue, "GPU idle although work is launched",
     "find out what these kernels wait for"},
    {&CauseTimes::unknown, "GPU idle of unknown cause", "record the host as well"},
};

/// Returns the name of the event that accounts for most of a slow step's excess. This is a loader's
/// range, or the host's event while the GPU waits. Empty if not recorded.
std::string_view WhatASlowStepDoes(const Evidence& evidence, const Causes& causes,
                                   const OutlierCause& cause, std::size_t row) {
  const auto& events = evidence.store.host_events;
  if (cause.time == &CauseTimes::input) {
    HostEventId longest;
    for (std::size_t i = 0; i < events.rows(); ++i) {
      if (evidence.attribution.Of(HostEventId(i)).phase != Phase::kDataWait ||
          events.start[i] >= evidence.steps.spans[row].end ||
          evidence.store.HostEnd(HostEventId(i)) <= evidence.steps.spans[row].start)
        continue;
      if (!longest.valid() || events.duration[i] > events.duration[longest.index()])
        longest = HostEventId(i);
    }
    return longest.valid() ? evidence.store.Text(events.name[longest.index()]) : "";
  }
  if (cause.time != &CauseTimes::host) return "";
  const LateIdle idle =
      MeasureLateIdle(evidence.store, evidence.names, evidence.steps, row,
                      Intersect(causes.late, IntervalSet::UnionOf({evidence.steps.spans[row]})));
  return idle.longest.valid() && 2 * idle.longest_time.ns() >= idle.all.ns()
             ? evidence.store.Text(events.name[idle.longest.index()])
             : "";
}

/// Reports idle time whose cause is unknown because the host was not recorded.
std::optional<Ranked> UnexplainedIdle(const Evidence& evidence, const Causes& causes) {
  constexpr double kWorthAFinding = 5;
  if (SharePct(causes.unknown, Wall(evidence)) < kWorthAFinding) return std::nullopt;
  const std::string figure = FormatMs(causes.unknown);
  const std::string remedy = RemedyOf(ImportIssue::kNoHost, evidence.store.metadata.recorded_as());
  auto ranked = About(
      evidence, causes.unknown, "unexplained-idle",
      fmt::format("the GPU idles {} {}, and the trace does not show why", figure, Each(evidence)),
      "bottleneck", figure,
      fmt::format("record the launches{}{}", remedy.empty() ? "" : ": ", remedy),
      Remedy::kQueueGaps);
  if (ranked) {
    ranked->finding.evidence = {
        "the launches of these kernels were not recorded; such gaps usually mean a late host or a "
        "loader without a ready batch"};
  }
  return ranked;
}

std::optional<Ranked> OutlierSteps(const Evidence& evidence, const Causes& causes) {
  const std::vector<StepRow>& list = evidence.steps.steps.list;
  if (evidence.rows.size() < 5 || evidence.report.steps.optimizer_every) return std::nullopt;
  const DurationNs median = list[evidence.median_step].wall;
  std::vector<std::size_t> slow, others;  // Indices into evidence.rows.
  std::optional<std::size_t> worst;
  DurationNs excess;
  for (std::size_t i = 0; i < evidence.rows.size(); ++i) {
    const StepRow& row = list[evidence.rows[i]];
    if (!IsOutlier(row.wall, median)) {
      others.push_back(i);
      continue;
    }
    slow.push_back(i);
    excess += row.wall - median;
    if (!worst || row.wall > list[evidence.rows[*worst]].wall) worst = i;
  }
  // If a third of the steps are slow, that is typical of the job, and the median is arbitrary.
  constexpr std::size_t kFew = 3;
  if (!worst || kFew * slow.size() >= evidence.rows.size()) return std::nullopt;

  const OutlierCause* cause = nullptr;
  DurationNs of_cause;  // Excess of the cause in slow steps over its time in the others.
  for (const OutlierCause& candidate : kOutlierCauses) {
    if (causes.by_row.empty()) break;
    DurationNs in_slow, in_others;
    for (const std::size_t i : slow) in_slow += causes.by_row[i].*candidate.time;
    for (const std::size_t i : others) in_others += causes.by_row[i].*candidate.time;
    const DurationNs more =
        in_slow - DurationNs(in_others.ns() / static_cast<std::int64_t>(others.size()) *
                             static_cast<std::int64_t>(slow.size()));
    if (more <= of_cause) continue;
    of_cause = more;
    cause = &candidate;
  }
  // Loaders deliver in bursts, so such slow steps are typical. Another finding reports the wait.
  if (cause != nullptr && cause->time == &CauseTimes::input && UsualOf(evidence)[slow.front()])
    return std::nullopt;
  const StepRow& row = list[evidence.rows[*worst]];
  const std::string figure = FormatMs(row.wall);
  auto ranked = About(evidence, evidence.PerStep(excess), "outlier-steps",
                      fmt::format("{} of {} {} far slower than the median; step {} took {}",
                                  FormatCount(static_cast<std::int64_t>(slow.size())),
                                  Plural(static_cast<std::int64_t>(evidence.rows.size()), "step"),
                                  slow.size() == 1 ? "is" : "are", row.index, figure),
                      "steps", figure,
                      cause != nullptr
                          ? std::string(cause->action)
                          : "find out what only these steps do: checkpoints, evaluation, logging, "
                            "garbage collection",
                      Remedy::kNone);
  if (!ranked) return ranked;
  std::vector<std::string>& why = ranked->finding.evidence;
  why = {fmt::format("the median step takes {}; slow steps take {} longer in total",
                     FormatTime(median), FormatTime(excess))};
  if (cause != nullptr) {
    const std::string_view name =
        WhatASlowStepDoes(evidence, causes, *cause, evidence.rows[*worst]);
    why.push_back(fmt::format("{} of that: {}{}", FormatTime(of_cause), cause->does,
                              name.empty() ? "" : fmt::format(" ({})", name)));
  }
  return ranked;
}

/// Reports evaluations inside training steps. The steps' figures exclude them, so the finding has
/// no share.
std::optional<Ranked> EvaluationInSteps(const Evidence& evidence, const Causes&) {
  DurationNs excess, all;
  const StepRow* slowest = nullptr;
  std::int64_t evaluating = 0;
  const DurationNs median = evidence.steps.steps.list[evidence.median_step].wall;
  for (const StepRow& row : evidence.steps.steps.list) {
    if (row.lost_tasks) continue;
    all += row.wall;
    if (row.kind != StepKind::kTrainingAndEvaluation) continue;
    ++evaluating;
    excess += std::max(DurationNs(0), row.wall - median);
    if (slowest == nullptr || row.wall > slowest->wall) slowest = &row;
  }
  if (slowest == nullptr || SharePct(excess, all) < kWorthMentioningPct) return std::nullopt;
  const auto steps = static_cast<std::int64_t>(evidence.rows.size());
  Ranked ranked;
  ranked.holds = DurationNs(excess.ns() / (steps + evaluating));
  Finding& finding = ranked.finding;
  finding.beside_steps = ranked.holds;
  finding.id = "evaluation-in-steps";
  finding.figure = FormatMs(slowest->wall);
  finding.title = fmt::format("{} also ran evaluation: {} of {} in total; step {} took {}",
                              Plural(evaluating, "step"), FormatTime(excess), FormatTime(all),
                              slowest->index, finding.figure);
  finding.check_section = "steps";
  finding.action =
      "evaluate less often or on fewer batches; check what the loader for evaluation waits for";
  finding.evidence = {
      fmt::format("the median training step takes {}; the rest of these steps is evaluation",
                  FormatTime(median))};
  return ranked;
}

using Rule = std::optional<Ranked> (*)(const Evidence&, const Causes&);
constexpr Rule kRules[] = {
    LateLaunches,        DataWait,    Callbacks,        ExposedCommunication, ExposedCopiesToDevice,
    ExposedCopiesToHost, CostlySyncs, UnfusedOptimizer, IdleTensorCores,      Elementwise,
    LayoutCopies,        QueueGaps,   UnexplainedIdle,  OutlierSteps,         EvaluationInSteps};

/// Rules that need no GPU work.
constexpr Rule kHostRules[] = {DataWait, Callbacks, OtherWork, OutlierSteps, EvaluationInSteps};

std::vector<Finding> Find(std::span<const Rule> rules, const Evidence& evidence,
                          const Causes& causes) {
  std::vector<Ranked> found;
  for (const Rule rule : rules) {
    if (std::optional<Ranked> ranked = rule(evidence, causes)) found.push_back(std::move(*ranked));
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Ranked& a, const Ranked& b) { return a.holds > b.holds; });
  if (found.size() > kMaxFindings) found.resize(kMaxFindings);
  std::vector<Finding> findings;
  findings.reserve(found.size());
  for (Ranked& ranked : found) findings.push_back(std::move(ranked.finding));
  return findings;
}

}  // namespace

bool ActsOn(Verdict verdict, const Finding& finding) {
  constexpr std::pair<std::string_view, Verdict> kAbout[] = {
      {"late-launches", Verdict::kHost},
      {"costly-region", Verdict::kHost},
      {"costly-line", Verdict::kHost},
      {"unmarked-time", Verdict::kHost},
      {"data-wait", Verdict::kInput},
      {"exposed-copies", Verdict::kInput},
      {"exposed-communication", Verdict::kCommunication},
      {"straggler", Verdict::kCommunication},
      {"pipeline-bubble", Verdict::kCommunication},
      {"callbacks", Verdict::kCallback},
      {"costly-syncs", Verdict::kSynchronization},
      {"stalled-copy", Verdict::kSynchronization},
      {"unfused-optimizer", Verdict::kGpuCompute},
      {"idle-tensor-cores", Verdict::kGpuCompute},
      {"unfused-elementwise", Verdict::kGpuCompute},
      {"device-copies", Verdict::kGpuCompute},
  };
  if (finding.saves_ms && finding.saves_ms->mid < 0) return false;
  if (verdict == Verdict::kGpuMemory) verdict = Verdict::kGpuCompute;
  return std::any_of(std::begin(kAbout), std::end(kAbout), [&](const auto& about) {
    return about.first == finding.id && about.second == verdict;
  });
}

void PutVerdictFirst(Verdict verdict, std::vector<Finding>& findings) {
  const auto first = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& finding) { return ActsOn(verdict, finding); });
  if (first != findings.end()) std::rotate(findings.begin(), first, first + 1);
}

std::vector<Finding> FindFindings(const Evidence& evidence, const Causes& causes) {
  // Outlier steps have a separate finding.
  Causes of_usual = causes;
  static_cast<CauseTimes&>(of_usual) = CausesInUsualSteps(evidence, causes);
  std::vector<Finding> findings = Find(kRules, evidence, of_usual);
  PutVerdictFirst(evidence.report.bottleneck.verdict, findings);
  return findings;
}

std::vector<Finding> FindHostFindings(const Evidence& evidence) {
  std::vector<Finding> findings = Find(kHostRules, evidence, Causes());
  PutVerdictFirst(evidence.report.bottleneck.verdict, findings);
  return findings;
}

}  // namespace headroom
