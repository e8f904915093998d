#include "analysis/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analysis/analyzed_trace.h"
#include "analysis/gpu/gpu_model.h"
#include "analysis/gpu/gpu_time.h"
#include "analysis/gpu/syncs.h"
#include "analysis/gpu/unit_use.h"
#include "analysis/loop/breakdown.h"
#include "analysis/loop/callbacks.h"
#include "analysis/loop/memory_use.h"
#include "analysis/loop/metrics.h"
#include "analysis/loop/regions.h"
#include "analysis/loop/run_time.h"
#include "analysis/loop/stacks.h"
#include "analysis/loop/timings.h"
#include "analysis/names/attribution.h"
#include "analysis/names/reference_data.h"
#include "analysis/steps/step_time.h"
#include "analysis/steps/steps.h"
#include "analysis/tables/costed_work.h"
#include "analysis/tables/efficiency.h"
#include "analysis/tables/tables.h"
#include "analysis/verdict/bottleneck.h"
#include "analysis/verdict/health.h"
#include "analysis/verdict/remedies.h"
#include "base/statistics.h"
#include "cost/device_spec.h"

namespace headroom {
namespace {

InputInfo DescribeInput(const TraceStore& store, const DeviceCatalog& catalog,
                        const AnalysisOptions& options) {
  const TraceMetadata& metadata = store.metadata;
  InputInfo input;
  input.path = options.path;
  input.format = metadata.format;
  input.recorded_as = metadata.recorded_as();
  input.bytes = metadata.file_bytes;
  input.events = metadata.events;
  input.rank = metadata.rank ? metadata.rank : options.rank;
  input.world_size = metadata.world_size;
  input.devices = DescribeGpus(store, catalog);
  return input;
}

TimeNs EarliestEvent(const TraceStore& store) {
  TimeNs first(INT64_MAX);
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    if (range.first < range.last) first = std::min(first, store.host_events.start[range.first]);
  }
  if (store.gpu_tasks.rows() > 0) first = std::min(first, store.gpu_tasks.start[0]);
  return first.ns() == INT64_MAX ? TimeNs(0) : first;
}

/// Returns the first counted step whose length equals the median.
std::optional<std::size_t> MedianStep(const Steps& steps) {
  for (std::size_t i = 0; i < steps.list.size(); ++i) {
    if (steps.list[i].Counts() && steps.list[i].wall == steps.p50) return i;
  }
  return std::nullopt;
}

/// Returns the GPU's busy time in the mean step. Returns nullopt if the step launches no GPU work,
/// or if the host runs on without waiting for the GPU.
std::optional<DurationNs> FindCeiling(const TraceReport& report, const StepRow& step) {
  const DurationNs busy = report.breakdown->gpu.Sum();
  if (step.tasks == 0 || busy <= DurationNs(0) || HostRunsOn(step)) return std::nullopt;
  return busy;
}

std::vector<CauseRow> DescribeCauses(const CauseTimes& causes, DurationNs wall) {
  std::vector<CauseRow> rows;
  const auto add = [&](std::string name, DurationNs time) {
    rows.push_back({std::move(name), time, SharePct(time, wall)});
  };
  add("gpu", causes.gpu);
  add("host", causes.host);
  add("input", causes.input);
  add("communication", causes.communication);
  add("callback", causes.callback);
  add("synchronization", causes.synchronization);
  add("device_to_host", causes.device_to_host);
  add("queue", causes.queue);
  add("unknown", causes.unknown);
  return rows;
}

/// Returns N if the optimizer runs in every Nth step and N is at least 2.
std::optional<std::int64_t> OptimizerEvery(std::span<const StepBreakdown> breakdowns) {
  constexpr std::size_t kMin = 2;
  std::vector<std::size_t> at;
  for (std::size_t i = 0; i < breakdowns.size(); ++i) {
    if (breakdowns[i].gpu.optimizer.ns() > 0) at.push_back(i);
  }
  if (at.size() < kMin || at[1] - at[0] < 2) return std::nullopt;
  for (std::size_t i = 1; i < at.size(); ++i) {
    if (at[i] - at[i - 1] != at[1] - at[0]) return std::nullopt;
  }
  return static_cast<std::int64_t>(at[1] - at[0]);
}

/// Returns an unknown verdict with the reason.
Bottleneck Abstain(const TraceReport& report, std::string_view recorded_as,
                   bool may_hide_gpu_work) {
  Bottleneck verdict;
  if (may_hide_gpu_work) {
    verdict.evidence = {
        "some tracks, which may contain GPU work, are not understood, so the GPU's waits are "
        "unknown"};
  } else if (report.gpu_time.empty()) {
    verdict.evidence = {fmt::format("no GPU work was recorded{}, so the GPU's waits are unknown",
                                    report.health.cut ? " before the file was cut" : "")};
  } else if (report.steps.list.empty()) {
    verdict.evidence = {"the trace has neither marked nor recognizable steps; " +
                        HowToTellSteps(recorded_as)};
  } else if (!report.steps.p50) {
    verdict.evidence = {fmt::format("the trace has no complete step: {}",
                                    report.health.cut
                                        ? "the file was cut before all of its GPU work was written"
                                        : "the GPU work of every step was lost")};
  } else if (report.health.grade < 'D') {
    verdict.evidence = {
        "no GPU work was launched in the median step, so the GPU's waits are unknown"};
  } else {
    std::string reason = "the recorded data does not support a verdict";
    // Issues are sorted, worst first.
    if (!report.health.issues.empty()) reason = report.health.issues.front().detail;
    verdict.evidence = {fmt::format("trace health {}: {}", report.health.grade, reason)};
  }
  return verdict;
}

/// Adds notes from the machine's samples that may explain the verdict. Omits notes about other
/// processes, because they contain program names.
void AddMachineNotes(const std::vector<MachineNote>& notes, Bottleneck& verdict) {
  const bool of_gpu =
      verdict.verdict == Verdict::kGpuCompute || verdict.verdict == Verdict::kGpuMemory;
  const bool of_host = verdict.verdict == Verdict::kHost || verdict.verdict == Verdict::kInput ||
                       verdict.verdict == Verdict::kCpuCompute;
  for (const MachineNote& note : notes) {
    if ((note.about == MachineNote::About::kGpu && of_gpu) ||
        (note.about == MachineNote::About::kHost && of_host))
      verdict.evidence.push_back(note.text);
  }
}

/// Returns the device with the most GPU time, or None() without GPU work.
DeviceId BusiestDevice(const TraceStore& store) {
  std::map<DeviceId, DurationNs> busy;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i)
    busy[store.DeviceOf(GpuTaskId(i))] += store.gpu_tasks.duration[i];
  const auto most = std::max_element(
      busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == busy.end() ? DeviceId::None() : most->first;
}

/// Adds figures from hardware counters to the kernels and to the analyzed steps.
void AddUnitUse(const TraceStore& store, const StepAnalysis& judged,
                const std::vector<Interval>& spans, TraceReport& report) {
  const UnitSamples samples(store);
  if (samples.empty()) return;
  const std::map<StringId, UnitUse> by_name = samples.MeansByName(store);
  for (TimeRow& row : report.kernels) {
    const auto known = by_name.find(store.strings.Find(row.name));
    if (known != by_name.end()) row.units = known->second;
  }
  const IntervalSet steps = IntervalSet::UnionOf(spans);
  report.efficiency.units = samples.MeanOver(
      BusiestDevice(store), steps.empty() ? judged.busy : Intersect(judged.busy, steps));
}

/// Fills in the report for a trace whose steps are known.
void FillReport(const TraceStore& store, const ReferenceData& reference, NameFacts& names,
                const AnalysisOptions& options, AnalyzedTrace& trace) {
  TraceReport& report = trace.report;
  const StepAnalysis& steps = trace.steps;
  report.input = DescribeInput(store, reference.devices(), options);
  report.trace_start = EarliestEvent(store);

  trace.costs = std::make_unique<OperatorCosts>(store);
  OperatorCosts& costs = *trace.costs;
  trace.attribution = std::make_unique<Attribution>(store, names, costs);
  const Attribution& attribution = *trace.attribution;
  const DeviceSpec* device = SpecOf(store, reference.devices());

  const std::vector<DeviceWork> work = CollectDeviceWork(store, names);
  report.gpu_time = ComputeGpuTime(store, work);
  report.idle = ComputeIdle(store);

  report.steps = steps.steps;

  const TableScope scope = ScopeOf(store, steps, options);
  report.kernels = KernelTable(store, names, steps, scope);
  report.classes = ClassTable(store, names, scope);
  trace.costed = CollectCostedWork(store, names, attribution, costs, device);
  const std::vector<CostedCall>& costed = trace.costed;
  report.operators = OperatorTable(store, attribution, costed, scope);
  report.layers = LayerTable(store, names, attribution, scope);
  report.lines = LineTable(store, attribution, scope);
  const std::optional<StepAnalysis> stretch = FindStretch(store, names, steps);
  const StepAnalysis& judged = stretch ? *stretch : steps;
  if (stretch) report.stretch = judged.steps.list.front();
  const std::optional<std::size_t> median = MedianStep(judged.steps);
  const std::vector<std::size_t> rows = JudgedRows(judged);
  std::vector<Interval> spans;
  spans.reserve(rows.size());
  for (const std::size_t row : rows) spans.push_back(judged.spans[row]);
  const std::vector<PricedSync> syncs =
      PriceSyncs(store, names, attribution, judged.process, judged.busy, judged.queued);
  report.syncs = SyncTable(store, attribution, syncs,
                           median ? std::optional(judged.spans[*median]) : std::nullopt, spans);
  report.efficiency = MeasureEfficiency(store, names, attribution, costed, steps, device);
  AddUnitUse(store, judged, spans, report);
  report.regions = RegionTable(store, names, attribution);
  report.callbacks = CallbackTable(store, names, steps);
  report.metrics = MetricTable(store);
  report.memory = MeasureMemory(store, names, attribution, steps);
  report.machine_notes = ExplainMachine(store, report.metrics);
  // The extent covers the steps on the host and on the GPU.
  std::optional<Interval> extent = ExtentOfSteps(steps);
  if (!spans.empty()) {
    if (!extent) extent = spans.front();
    extent->start = std::min(extent->start, spans.front().start);
    extent->end = std::max(extent->end, spans.back().end);
  }
  HostActivity& host = trace.host;
  if (extent) host = FindHostActivity(store, names, attribution, judged.process, *extent);
  const UnmarkedLoading unmarked = FindUnmarkedLoading(store, names, attribution, steps);
  if (!unmarked.empty()) AddUnmarkedLoading(unmarked.time, host);
  if (!steps.steps.list.empty() && extent) {
    report.timings = TimingTable(store, attribution, steps, host);
    for (TimingRow& row : report.timings) {
      if (row.name == "dataloader_next" && !unmarked.empty()) row.source = "its place";
    }
    report.input_wait = MeasureInputWait(store, attribution, steps, host);
  }
  report.stacks = StackTable(store, judged, host);
  report.health = AssessHealth(store, names, steps, report.efficiency);
  const bool may_hide_gpu_work = MayHideGpuWork(store);

  std::vector<StepBreakdown> breakdowns;
  if (median && !rows.empty())
    breakdowns = BreakDown(store, names, attribution, host, judged.process, spans);
  report.steps.optimizer_every = OptimizerEvery(breakdowns);
  if (report.steps.optimizer_every && report.steps.step_time)
    report.steps.step_time = StepTimeOf(report.steps)->mean;
  report.run =
      MeasureRun(store, names, attribution, steps, host, unmarked, report.steps.optimizer_every);

  if (median && !rows.empty()) {
    Evidence evidence = {.store = store,
                         .names = names,
                         .attribution = attribution,
                         .steps = judged,
                         .host = host,
                         .unmarked = unmarked,
                         .syncs = syncs,
                         .report = report,
                         .device = device,
                         .rows = rows,
                         .breakdowns = std::move(breakdowns),
                         .median_step = *median,
                         .is_stretch = stretch.has_value()};
    const StepRow& example = judged.steps.list[*median];
    report.breakdown = MeanOf(evidence.breakdowns);
    report.breakdown->step_index = example.index;
    report.breakdown->is_stretch = evidence.is_stretch;
    report.ceiling = FindCeiling(report, example);
    LoopHost loop;
    for (const std::size_t row : rows) {
      const Interval on_host = judged.hosts[row];
      loop.step += on_host.length();
      loop.data_wait += host.data_wait.MeasureWithin(on_host);
      loop.callback += host.callback.MeasureWithin(on_host);
    }
    report.loop = LoopHost{.step = evidence.PerStep(loop.step),
                           .data_wait = evidence.PerStep(loop.data_wait),
                           .callback = evidence.PerStep(loop.callback)};
    // Without GPU work only the host's clock counts. A cut file may have lost GPU work, and unknown
    // tracks may contain some.
    if (report.gpu_time.empty() && !report.health.cut && !may_hide_gpu_work) {
      report.bottleneck = JudgeHostOnly(evidence);
      AddMachineNotes(report.machine_notes, report.bottleneck);
      report.findings = FindHostFindings(evidence);
      return;
    }
    // At grade D or below, the report shows the figures but draws no conclusion.
    if (example.tasks > 0 && report.health.grade < 'D' && !may_hide_gpu_work) {
      const Causes causes = FindCauses(evidence);
      report.causes = DescribeCauses(causes, report.breakdown->wall);
      report.bottleneck = Judge(evidence, causes);
      AddMachineNotes(report.machine_notes, report.bottleneck);
      report.findings = FindFindings(evidence, causes);
      return;
    }
  }
  report.bottleneck = Abstain(report, store.metadata.recorded_as(), may_hide_gpu_work);
}

}  // namespace

Result<AnalyzedTrace> AnalyzeTrace(const TraceStore& store, const ReferenceData& reference,
                                   NameFacts& names, const AnalysisOptions& options) {
  Result<StepAnalysis> steps = AnalyzeSteps(store, names, options);
  if (!steps.ok()) return steps.status();
  AnalyzedTrace trace;
  trace.steps = std::move(steps).value();
  FillReport(store, reference, names, options, trace);
  return trace;
}

Result<TraceReport> Analyze(const TraceStore& store, const ReferenceData& reference,
                            const AnalysisOptions& options) {
  NameFacts names(store, reference);
  Result<AnalyzedTrace> analyzed = AnalyzeTrace(store, reference, names, options);
  if (!analyzed.ok()) return analyzed.status();
  return std::move(analyzed.value().report);
}

}  // namespace headroom
