#include "answers/report/json.h"

#include <algorithm>

#include "analysis/steps/step_kind.h"
#include "answers/report/memory_json.h"
#include "answers/report/ranks.h"
#include "render/json_writer.h"
#include "render/row_id.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

void WriteStrings(JsonWriter& json, const std::vector<std::string>& strings) {
  json.BeginArray();
  for (const std::string& text : strings) json.String(text);
  json.EndArray();
}

void WriteMsInterval(JsonWriter& json, std::string_view key,
                     const std::optional<MsInterval>& interval) {
  json.Key(key);
  if (!interval) return json.Null();
  json.BeginObject();
  json.Key("low").Number(interval->low);
  json.Key("mid").Number(interval->mid);
  json.Key("high").Number(interval->high);
  json.EndObject();
}

void WriteInputs(JsonWriter& json, const JobReport& job) {
  json.Key("inputs").BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    const InputInfo& input = file.input;
    json.BeginObject();
    json.Key("path").String(input.path);
    json.Key("format").String(input.format);
    json.Key("bytes").Integer(input.bytes);
    json.Key("events").Integer(input.events);
    json.Key("recordings").Integer(input.recordings);
    json.Key("rank").Integer(input.rank);
    json.Key("world_size").Integer(input.world_size);
    json.Key("devices").BeginArray();
    for (const DeviceInfo& device : input.devices) {
      json.BeginObject();
      json.Key("id").Integer(device.id);
      json.Key("name").StringOrNull(device.name);
      json.Key("memory_bytes").Integer(device.memory_bytes);
      json.Key("sms").Integer(device.sms);
      json.Key("compute_capability").StringOrNull(device.compute_capability);
      json.Key("model").StringOrNull(device.model);
      json.Key("vendor").StringOrNull(device.vendor);
      json.Key("architecture").StringOrNull(device.architecture);
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

void WriteHealth(JsonWriter& json, const JobReport& job) {
  json.Key("health").BeginObject(Layout::kLines);
  json.Key("grade").String(std::string(1, job.grade()));
  json.Key("issues").BeginArray(Layout::kLines);
  for (const RowOfFile<HealthIssue>& issue : job.issues()) {
    const ImportIssueDoc& doc = DocOf(issue.row->issue);
    json.BeginObject();
    json.Key("code").String(doc.code);
    json.Key("severity").String(NameOf(doc.severity));
    json.Key("count").Integer(issue.row->count);
    json.Key("detail").String(issue.row->detail);
    json.Key("voids");
    WriteStrings(json, issue.row->voids);
    if (!job.single()) json.Key("rank").Integer(issue.row->of_set ? std::nullopt : issue.rank());
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteRanks(JsonWriter& json, const JobReport& job) {
  json.Key("ranks").BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    json.BeginObject();
    json.Key("rank").Integer(file.input.rank);
    json.Key("path").String(file.input.path);
    json.Key("grade").String(std::string(1, file.health.grade));
    json.Key("verdict").String(NameOf(file.bottleneck.verdict));
    json.Key("p50_ms").Milliseconds(file.steps.p50);
    json.EndObject();
  }
  json.EndArray();
}

void WriteStepRow(JsonWriter& json, const RowOfFile<StepRow>& found) {
  const StepRow& row = *found.row;
  const TraceReport& file = *found.file;
  json.BeginObject();
  json.Key("index").Integer(row.index);
  json.Key("rank").Integer(file.input.rank);
  json.Key("start_ms").Milliseconds(row.start - file.trace_start);
  json.Key("wall_ms").Milliseconds(row.wall);
  json.Key("gpu_busy_ms").Milliseconds(row.gpu_busy);
  json.Key("host_ms").Milliseconds(row.host);
  json.Key("host_wait_ms").Milliseconds(row.host_wait);
  json.Key("profiler_cost_ms").Milliseconds(row.profiler_cost);
  json.Key("queue_depth_mean").Number(row.queue_depth_mean);
  json.Key("queue_depth_max").Integer(row.queue_depth_max);
  json.Key("whole").Bool(!row.lost_tasks);
  json.Key("counted").Bool(row.Counts());
  json.Key("kind").StringOrNull(NameOf(row.kind));
  json.Key("tokens").Integer(row.tokens);
  json.EndObject();
}

void WriteSteps(JsonWriter& json, const JobReport& job) {
  const StepSummary& summary = job.steps();
  const Steps& steps = job.slowest().steps;
  json.Key("steps").BeginObject(Layout::kLines);
  json.Key("source").String(NameOf(summary.source));
  json.Key("count").Integer(static_cast<std::int64_t>(summary.count));
  json.Key("p50_ms").Milliseconds(summary.p50);
  json.Key("mean_ms").Milliseconds(summary.mean);
  json.Key("min_ms").Milliseconds(summary.min);
  json.Key("max_ms").Milliseconds(summary.max);
  json.Key("step_time_ms").Milliseconds(summary.step_time);
  WriteMsInterval(json, "corrected_step_ms", summary.corrected);
  json.Key("corrected_p50_ms").Milliseconds(summary.corrected_p50);
  json.Key("profiler_overhead_pct").Number(summary.profiler_overhead_pct);
  json.Key("confidence").StringOrNull(steps.confidence);
  json.Key("confidence_reason").StringOrNull(steps.confidence_reason);
  json.Key("marker").StringOrNull(steps.marker);
  json.Key("optimizer_every").Integer(steps.optimizer_every);
  json.Key("kinds").BeginArray(Layout::kLines);
  for (const StepKindRow& row : steps.kinds) {
    json.BeginObject();
    json.Key("kind").StringOrNull(NameOf(row.kind));
    json.Key("count").Integer(row.count);
    json.Key("share_pct").Number(row.share_pct);
    json.Key("mean_ms").Milliseconds(row.mean);
    json.Key("p50_ms").Milliseconds(row.p50);
    json.Key("p90_ms").Milliseconds(row.p90);
    json.Key("tokens").Number(row.tokens);
    json.Key("tokens_per_s").Number(TokensPerSecond(row));
    json.EndObject();
  }
  json.EndArray();
  json.Key("list").BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    for (const StepRow& row : file.steps.list) {
      WriteStepRow(json, {&row, &file});
    }
  }
  json.EndArray();
  json.EndObject();
}

void WriteRun(JsonWriter& json, const JobReport& job) {
  const std::optional<RunTime>& run = job.slowest().run;
  json.Key("run");
  if (!run) return json.Null();
  json.BeginObject(Layout::kLines);
  json.Key("wall_ms").Milliseconds(run->wall);
  json.Key("parts").BeginArray(Layout::kLines);
  for (const RunRow& row : run->rows) {
    json.BeginObject();
    json.Key("name").String(row.name);
    json.Key("time_ms").Milliseconds(row.time);
    json.Key("share_pct").Number(row.share_pct);
    json.Key("count").Integer(row.count);
    json.Key("longest").StringOrNull(row.example);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

void WriteGpuTime(JsonWriter& json, const JobReport& job) {
  json.Key("gpu_time").BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    for (const GpuTimeRow& row : file.gpu_time) {
      json.BeginObject();
      json.Key("rank").Integer(file.input.rank);
      json.Key("device").Integer(row.device);
      json.Key("span_ms").Milliseconds(row.span);
      json.Key("busy_ms").Milliseconds(row.busy);
      json.Key("compute_ms").Milliseconds(row.compute);
      json.Key("communication_ms").Milliseconds(row.communication);
      json.Key("memory_ms").Milliseconds(row.memory);
      json.Key("exposed_communication_ms").Milliseconds(row.exposed_communication);
      json.Key("exposed_memory_ms").Milliseconds(row.exposed_memory);
      json.Key("idle_ms").Milliseconds(row.idle);
      json.Key("overlap_communication_pct").Number(row.overlap_communication_pct);
      json.EndObject();
    }
  }
  json.EndArray();
}

void WriteIdle(JsonWriter& json, const JobReport& job) {
  json.Key("idle").BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    for (const IdleRow& row : file.idle) {
      json.BeginObject();
      json.Key("rank").Integer(file.input.rank);
      json.Key("device").Integer(row.device);
      json.Key("stream").Integer(row.stream);
      json.Key("host_wait_ms").Milliseconds(row.host_wait);
      json.Key("kernel_wait_ms").Milliseconds(row.kernel_wait);
      json.Key("other_ms").Milliseconds(row.other);
      json.EndObject();
    }
  }
  json.EndArray();
}

void WriteParts(JsonWriter& json, const BreakdownParts& parts) {
  json.Key("data_wait_ms").Milliseconds(parts.data_wait);
  json.Key("host_to_device_ms").Milliseconds(parts.host_to_device);
  json.Key("forward_ms").Milliseconds(parts.forward);
  json.Key("backward_ms").Milliseconds(parts.backward);
  json.Key("optimizer_ms").Milliseconds(parts.optimizer);
  json.Key("communication_ms").Milliseconds(parts.communication);
  json.Key("callback_ms").Milliseconds(parts.callback);
  json.Key("other_ms").Milliseconds(parts.other);
}

void WriteBreakdown(JsonWriter& json, const JobReport& job) {
  json.Key("step_breakdown");
  const std::optional<StepBreakdown>& breakdown = job.slowest().breakdown;
  if (!breakdown) return json.Null();
  json.BeginObject(Layout::kLines);
  WriteParts(json, breakdown->step);
  json.Key("gpu").BeginObject();
  WriteParts(json, breakdown->gpu);
  json.EndObject();
  json.Key("step_index").Integer(breakdown->step_index);
  json.Key("wall_ms").Milliseconds(breakdown->wall);
  json.Key("of_ms").Milliseconds(breakdown->wall);
  json.Key("steps").Integer(breakdown->steps);
  json.Key("median").BeginObject();
  WriteParts(json, breakdown->median);
  json.EndObject();
  json.Key("p90").BeginObject();
  WriteParts(json, breakdown->p90);
  json.EndObject();
  if (!job.single()) json.Key("rank").Integer(job.slowest().input.rank);
  json.EndObject();
}

/// What breakdown, bottleneck and findings are of where there are no steps.
void WriteStretch(JsonWriter& json, const JobReport& job) {
  const TraceReport& file = job.slowest();
  json.Key("stretch");
  if (!file.stretch) return json.Null();
  json.BeginObject();
  json.Key("start_ms").Milliseconds(file.stretch->start - file.trace_start);
  json.Key("wall_ms").Milliseconds(file.stretch->wall);
  json.Key("gpu_busy_ms").Milliseconds(file.stretch->gpu_busy);
  json.Key("gpu_tasks").Integer(file.stretch->tasks);
  json.EndObject();
}

void WriteBottleneck(JsonWriter& json, const JobReport& job) {
  const Bottleneck& bottleneck = job.slowest().bottleneck;
  json.Key("bottleneck").BeginObject(Layout::kLines);
  json.Key("verdict").String(NameOf(bottleneck.verdict));
  json.Key("share_pct").Number(bottleneck.share_pct);
  json.Key("confidence").StringOrNull(bottleneck.confidence);
  json.Key("evidence");
  WriteStrings(json, bottleneck.evidence);
  json.Key("causes").BeginArray(Layout::kLines);
  for (const CauseRow& cause : job.slowest().causes) {
    json.BeginObject();
    json.Key("name").String(cause.name);
    json.Key("time_ms").Milliseconds(cause.time);
    json.Key("share_pct").Number(cause.share_pct);
    json.EndObject();
  }
  json.EndArray();
  if (!job.single()) json.Key("rank").Integer(job.slowest().input.rank);
  json.EndObject();
}

void WriteEngineWindow(JsonWriter& json, const JobReport& job) {
  json.Key("engine_window");
  const std::optional<EngineSummary>& engine = job.slowest().engine;
  if (!engine) return json.Null();
  json.BeginObject(Layout::kLines);
  json.Key("first_step").Integer(engine->first_step);
  json.Key("last_step").Integer(engine->last_step);
  json.Key("steps").Integer(engine->steps);
  json.Key("events").Integer(engine->events);
  WriteMsInterval(json, "corrected_step_ms", engine->corrected_step_ms);
  // With an error, one that is not 0 is the error.
  const bool replayed = engine->error.empty() || engine->replay_error_pct != 0;
  json.Key("replay_error_pct")
      .Number(replayed ? std::optional(engine->replay_error_pct) : std::nullopt);
  json.Key("calibration").String(engine->calibration);
  json.Key("error").StringOrNull(engine->error);
  if (!job.single()) json.Key("rank").Integer(job.slowest().input.rank);
  json.EndObject();
}

void WriteFinding(JsonWriter& json, const RowOfFile<Finding>& finding, bool ranked,
                  const ReportOptions& options) {
  json.BeginObject();
  json.Key("id").String(finding.row->id);
  json.Key("title").String(finding.row->title);
  json.Key("share_pct").Number(finding.row->share_pct);
  WriteMsInterval(json, "saves_ms", finding.row->saves_ms);
  json.Key("saves_note").StringOrNull(finding.row->saves_note);
  json.Key("evidence");
  WriteStrings(json, finding.row->evidence);
  json.Key("action").String(finding.row->action);
  json.Key("check").String(CheckCommand(*finding.row, *finding.file, options));
  json.Key("figure").StringOrNull(finding.row->figure);
  json.Key("whatif").StringOrNull(ForecastCommand(*finding.row, *finding.file, options));
  if (ranked) json.Key("rank").Integer(finding.rank());
  json.EndObject();
}

void WriteFindings(JsonWriter& json, const JobReport& job, const ReportOptions& options) {
  json.Key("findings").BeginArray(Layout::kLines);
  for (const RowOfFile<Finding>& finding : job.findings()) {
    WriteFinding(json, finding, !job.single(), options);
  }
  json.EndArray();
}

/// Kernels, operators or layers: they differ in what can be known.
enum class TimeTable { kKernels, kOperators, kLayers };

std::string_view KindOf(TimeTable table) {
  switch (table) {
    case TimeTable::kKernels:
      return "kernel";
    case TimeTable::kOperators:
      return "operator";
    case TimeTable::kLayers:
      return "layer";
  }
  return "";
}

void WriteUnits(JsonWriter& json, const UnitUse& units) {
  json.Key("sm_active_pct").Number(units.sm_active_pct);
  json.Key("tensor_active_pct").Number(units.tensor_active_pct);
  json.Key("dram_active_pct").Number(units.dram_active_pct);
}

void WriteTimeRow(JsonWriter& json, TimeTable table, const RowOfFile<TimeRow>& ranked) {
  const TimeRow& row = *ranked.row;
  const bool gpu_work = !ranked.file->gpu_time.empty();
  const auto microseconds = [&](std::string_view name, DurationNs duration) {
    json.Key(name).Microseconds(gpu_work ? std::optional(duration) : std::nullopt);
  };
  json.BeginObject();
  json.Key("id").String(RowId(KindOf(table), row.name));
  json.Key("name").String(row.name);
  json.Key("rank").Integer(ranked.rank());
  json.Key("count").Integer(row.count);
  microseconds("total_us", row.total);
  json.Key("mean_us");
  gpu_work&& row.count > 0 ? json.Raw(MeanUs(row.total, row.count)) : json.Null();
  microseconds("p50_us", row.p50);
  microseconds("min_us", row.min);
  microseconds("max_us", row.max);
  json.Key("share_pct").Number(gpu_work ? std::optional(row.share_pct) : std::nullopt);
  if (table != TimeTable::kKernels) {
    json.Key("host_us").Microseconds(row.host);
    json.Key("self_host_us").Microseconds(row.self_host);
    json.Key("forward_us").Microseconds(row.forward);
    json.Key("backward_us").Microseconds(row.backward);
  }
  json.Key("flops").Number(row.flops);
  json.Key("bytes").Number(row.bytes);
  json.Key("bound").StringOrNull(row.bound);
  json.Key("roofline_pct").Number(row.roofline_pct);
  if (table == TimeTable::kKernels) {
    json.Key("class").StringOrNull(row.kind);
    json.Key("tensor_cores").StringOrNull(row.tensor_cores);
    WriteUnits(json, row.units);
  } else if (table == TimeTable::kOperators) {
    json.Key("family").StringOrNull(row.kind);
  }
  json.EndObject();
}

void WriteTimeTable(JsonWriter& json, std::string_view key, TimeTable table,
                    std::vector<TimeRow> TraceReport::*list, const JobReport& job,
                    const ReportOptions& options) {
  json.Key(key).BeginArray(Layout::kLines);
  for (const RowOfFile<TimeRow>& ranked : job.Rows(list, options.top))
    WriteTimeRow(json, table, ranked);
  json.EndArray();
}

void WriteLines(JsonWriter& json, const JobReport& job, const ReportOptions& options) {
  json.Key("lines").BeginArray(Layout::kLines);
  for (const RowOfFile<LineRow>& line : job.Rows(&TraceReport::lines, options.top)) {
    json.BeginObject();
    json.Key("location").String(line.row->location);
    json.Key("rank").Integer(line.rank());
    json.Key("count").Integer(line.row->count);
    json.Key("total_us").Microseconds(line.row->total);
    json.Key("forward_us").Microseconds(line.row->forward);
    json.Key("backward_us").Microseconds(line.row->backward);
    json.Key("share_pct").Number(line.row->share_pct);
    json.EndObject();
  }
  json.EndArray();
}

void WriteClasses(JsonWriter& json, const JobReport& job) {
  json.Key("classes").BeginArray(Layout::kLines);
  for (const RowOfFile<ClassRow>& row : job.Rows(&TraceReport::classes, std::nullopt)) {
    json.BeginObject();
    json.Key("name").String(row.row->name);
    json.Key("rank").Integer(row.rank());
    json.Key("count").Integer(row.row->count);
    json.Key("total_us").Microseconds(row.row->total);
    json.Key("share_pct").Number(row.row->share_pct);
    json.EndObject();
  }
  json.EndArray();
}

void WriteSyncs(JsonWriter& json, const JobReport& job, const ReportOptions& options) {
  json.Key("syncs").BeginArray(Layout::kLines);
  for (const RowOfFile<SyncRow>& row : job.Rows(&TraceReport::syncs, options.top)) {
    json.BeginObject();
    json.Key("name").String(row.row->name);
    json.Key("where").StringOrNull(row.row->where);
    json.Key("rank").Integer(row.rank());
    json.Key("count").Integer(row.row->count);
    json.Key("host_us").Microseconds(row.row->host);
    json.Key("gpu_idle_us").Microseconds(row.row->gpu_idle);
    json.Key("median_step_gpu_idle_us").Microseconds(row.row->in_median_step);
    json.Key("mean_step_gpu_idle_us").Microseconds(row.row->in_mean_step);
    json.EndObject();
  }
  json.EndArray();
}

void WriteEfficiency(JsonWriter& json, const JobReport& job) {
  const Efficiency& e = job.slowest().efficiency;
  json.Key("efficiency").BeginObject(Layout::kLines);
  json.Key("device_name").StringOrNull(e.device_name);
  json.Key("peaks").BeginArray();
  for (const PeakRow& peak : e.peaks) {
    json.BeginObject();
    json.Key("dtype").String(peak.dtype);
    json.Key("tflops").Number(peak.tflops);
    json.EndObject();
  }
  json.EndArray();
  json.Key("memory_bandwidth_gbs").Number(e.memory_bandwidth_gbs);
  json.Key("flops_per_step").Number(e.flops_per_step);
  json.Key("math_dtype").StringOrNull(e.math_dtype);
  json.Key("peak_tflops").Number(e.peak_tflops);
  json.Key("mfu_pct").Number(e.mfu_pct);
  json.Key("mfu_formula").StringOrNull(e.mfu_formula);
  json.Key("error").StringOrNull(e.error);
  json.Key("mfu_coverage_pct").Number(e.mfu_coverage_pct);
  json.Key("costed_pct").Number(e.costed_pct);
  json.Key("impossible_pct").Number(e.impossible_pct);
  json.Key("compute_bound_pct").Number(e.compute_bound_pct);
  json.Key("memory_bound_pct").Number(e.memory_bound_pct);
  json.Key("tensor_core_eligible_pct").Number(e.tensor_core_eligible_pct);
  json.Key("tensor_core_used_pct").Number(e.tensor_core_used_pct);
  json.Key("tensor_core_unknown_pct").Number(e.tensor_core_unknown_pct);
  json.Key("unclassified_pct").Number(e.unclassified_pct);
  WriteUnits(json, e.units);
  if (!job.single()) json.Key("rank").Integer(job.slowest().input.rank);
  json.EndObject();
}

void WriteCeiling(JsonWriter& json, const JobReport& job) {
  json.Key("ceiling");
  const std::optional<DurationNs> busy = job.slowest().ceiling;
  if (!busy) return json.Null();
  const DurationNs step = job.slowest().breakdown->wall;
  json.BeginObject();
  json.Key("step_ms_if_gpu_never_idle").Milliseconds(*busy);
  json.Key("speedup").Number(static_cast<double>(step.ns()) / static_cast<double>(busy->ns()));
  if (!job.single()) json.Key("rank").Integer(job.slowest().input.rank);
  json.EndObject();
}

void WriteRegions(JsonWriter& json, const JobReport& job, const ReportOptions& options) {
  json.Key("regions").BeginArray(Layout::kLines);
  for (const RowOfFile<RegionRow>& ranked : job.Rows(&TraceReport::regions, options.top)) {
    const RegionRow& row = *ranked.row;
    json.BeginObject();
    json.Key("key").String(row.key);
    json.Key("rank").Integer(ranked.rank());
    json.Key("count").Integer(row.count);
    json.Key("total_ms").Milliseconds(row.total);
    json.Key("self_ms").Milliseconds(row.self);
    json.Key("p50_ms").Milliseconds(row.p50);
    json.Key("p99_ms").Milliseconds(row.p99);
    json.Key("gpu_ms").Milliseconds(row.gpu);
    json.Key("min_ms").Milliseconds(row.min);
    json.Key("max_ms").Milliseconds(row.max);
    json.Key("mean_ms").Milliseconds(row.mean);
    json.Key("stdev_ms").Milliseconds(row.stdev);
    json.EndObject();
  }
  json.EndArray();
}

void WriteRegionsOverRanks(JsonWriter& json, const JobReport& job) {
  json.Key("regions_over_ranks").BeginArray(Layout::kLines);
  for (const RegionOverRanks& row : job.RegionsOverRanks()) {
    json.BeginObject();
    json.Key("key").String(row.key);
    json.Key("ranks").Integer(row.ranks);
    json.Key("min_ms").Milliseconds(row.min);
    json.Key("mean_ms").Milliseconds(row.mean);
    json.Key("max_ms").Milliseconds(row.max);
    json.Key("longest_on_rank").Integer(row.longest->input.rank);
    json.Key("share_of_batch_pct").Number(row.share_of_batch_pct);
    json.EndObject();
  }
  json.EndArray();
}

void WriteTimings(JsonWriter& json, const JobReport& job) {
  json.Key("timings").BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    for (const TimingRow& row : file.timings) {
      json.BeginObject();
      json.Key("name").String(row.name);
      json.Key("rank").Integer(file.input.rank);
      json.Key("inside").StringOrNull(row.inside);
      json.Key("count").Integer(row.count);
      json.Key("total_ms").Milliseconds(row.total);
      json.Key("mean_ms").Milliseconds(row.mean);
      json.Key("p50_ms").Milliseconds(row.p50);
      json.Key("p99_ms").Milliseconds(row.p99);
      json.Key("share_pct").Number(row.share_pct);
      json.Key("gpu_ms").Milliseconds(row.gpu);
      json.Key("source").String(row.source);
      json.EndObject();
    }
  }
  json.EndArray();
}

void WriteCallbacks(JsonWriter& json, const JobReport& job, const ReportOptions& options) {
  json.Key("callbacks").BeginArray(Layout::kLines);
  for (const RowOfFile<CallbackRow>& ranked : job.Rows(&TraceReport::callbacks, options.top)) {
    const CallbackRow& row = *ranked.row;
    json.BeginObject();
    json.Key("event").StringOrNull(row.event);
    json.Key("callback").String(row.callback);
    json.Key("rank").Integer(ranked.rank());
    json.Key("count").Integer(row.count);
    json.Key("total_ms").Milliseconds(row.total);
    json.Key("self_ms").Milliseconds(row.self);
    json.Key("in_steps_ms").Milliseconds(row.in_steps);
    json.Key("share_pct").Number(row.share_pct);
    json.EndObject();
  }
  json.EndArray();
}

void WriteMetrics(JsonWriter& json, const JobReport& job) {
  json.Key("metrics").BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    for (const MetricRow& row : file.metrics) {
      json.BeginObject();
      json.Key("name").String(row.name);
      json.Key("rank").Integer(file.input.rank);
      json.Key("unit").StringOrNull(row.unit);
      json.Key("host").StringOrNull(row.host);
      json.Key("gpu").Integer(row.gpu);
      json.Key("instance").StringOrNull(row.instance);
      json.Key("mean").Number(row.mean);
      json.Key("min").Number(row.min);
      json.Key("max").Number(row.max);
      json.Key("last").Number(row.last);
      json.Key("samples").Integer(row.samples);
      json.EndObject();
    }
  }
  json.EndArray();
}

void WriteInputWait(JsonWriter& json, const JobReport& job) {
  json.Key("input_wait");
  const std::optional<InputWait>& wait = job.slowest().input_wait;
  if (!wait) return json.Null();
  json.BeginObject();
  json.Key("host_ms").Milliseconds(wait->host);
  json.Key("exposed_ms").Milliseconds(wait->exposed);
  json.Key("hidden_ms").Milliseconds(wait->hidden);
  json.Key("batches").Integer(wait->batches);
  json.Key("source").String(wait->source);
  if (!job.single()) json.Key("rank").Integer(job.slowest().input.rank);
  json.EndObject();
}

void WriteThroughput(JsonWriter& json, const JobReport& job) {
  json.Key("throughput");
  const std::optional<Throughput>& throughput = job.slowest().throughput;
  if (!throughput) return json.Null();
  json.BeginObject();
  json.Key("samples_per_s").Number(throughput->samples_per_s);
  json.Key("batch_size").Integer(throughput->batch_size);
  json.Key("source").String(throughput->source);
  if (!job.single()) json.Key("rank").Integer(job.slowest().input.rank);
  json.EndObject();
}

}  // namespace

std::string RenderJson(std::span<const TraceReport> files, const ReportOptions& options) {
  const JobReport job(files);
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.report/1");
  WriteInputs(json, job);
  WriteHealth(json, job);
  WriteRanks(json, job);
  WriteJobRanksJson(options.ranks, json);
  WriteSteps(json, job);
  WriteRun(json, job);
  WriteGpuTime(json, job);
  WriteIdle(json, job);
  WriteStretch(json, job);
  WriteBreakdown(json, job);
  WriteBottleneck(json, job);
  WriteEngineWindow(json, job);
  WriteFindings(json, job, options);
  WriteTimeTable(json, "kernels", TimeTable::kKernels, &TraceReport::kernels, job, options);
  WriteTimeTable(json, "operators", TimeTable::kOperators, &TraceReport::operators, job, options);
  WriteTimeTable(json, "layers", TimeTable::kLayers, &TraceReport::layers, job, options);
  WriteLines(json, job, options);
  WriteClasses(json, job);
  WriteSyncs(json, job, options);
  WriteEfficiency(json, job);
  WriteRegions(json, job, options);
  WriteRegionsOverRanks(json, job);
  WriteTimings(json, job);
  WriteCallbacks(json, job, options);
  WriteMetrics(json, job);
  WriteInputWait(json, job);
  WriteThroughput(json, job);
  WriteCeiling(json, job);
  WriteMemory(json, job, options);
  json.Key("energy").Null();
  json.EndObject();
  return std::move(json).Take() + "\n";
}

namespace {

void WriteCalls(JsonWriter& json, const RowCalls& calls, const TraceReport& file) {
  json.BeginObject(Layout::kLines);
  json.Key("rank").Integer(file.input.rank);
  json.Key("of").String(calls.of_gpu ? "gpu" : "host");
  json.Key("count").Integer(calls.count);
  json.Key("min_us").Microseconds(calls.min);
  json.Key("p50_us").Microseconds(calls.p50);
  json.Key("p90_us").Microseconds(calls.p90);
  json.Key("p99_us").Microseconds(calls.p99);
  json.Key("max_us").Microseconds(calls.max);
  json.Key("slowest").BeginArray(Layout::kLines);
  for (const RowCall& call : calls.slowest) {
    json.BeginObject();
    json.Key("id").Integer(call.id);
    json.Key("us").Microseconds(call.time);
    json.Key("host_us").Microseconds(call.host);
    json.Key("step").Integer(call.step_index);
    json.Key("start_ms").Milliseconds(call.start - file.trace_start);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string RenderShownRowJson(const ShownRow& found, const std::string& id,
                               const CallsByPath& calls, bool ranked,
                               const ReportOptions& options) {
  JsonWriter json;
  json.BeginObject(Layout::kLines);
  json.Key("schema").String("headroom.row/1");
  json.Key("id").String(id);
  json.Key("kind").String(found.kind);
  json.Key("rows").BeginArray(Layout::kLines);
  for (const TimeTable table : {TimeTable::kKernels, TimeTable::kOperators, TimeTable::kLayers}) {
    if (KindOf(table) != found.kind) continue;
    for (const RowOfFile<TimeRow>& row : found.times) WriteTimeRow(json, table, row);
  }
  for (const RowOfFile<StepRow>& row : found.steps) WriteStepRow(json, row);
  for (const RowOfFile<Finding>& row : found.findings) WriteFinding(json, row, ranked, options);
  json.EndArray();
  json.Key("calls").BeginArray(Layout::kLines);
  for (const RowOfFile<TimeRow>& row : found.times) {
    if (const auto of_file = calls.find(row.file->input.path); of_file != calls.end())
      WriteCalls(json, of_file->second, *row.file);
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom
