#include "answers/report/json.h"

#include <algorithm>

#include "analysis/steps/step_kind.h"
#include "answers/report/columns.h"
#include "answers/report/memory_json.h"
#include "answers/report/phrases.h"
#include "answers/report/ranks_json.h"
#include "answers/report/summary.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

using Layout = JsonWriter::Layout;

void WriteStrings(JsonWriter& json, const std::vector<std::string>& strings) {
  WriteJson(Cell(strings), json);
}

void WriteMsInterval(JsonWriter& json, std::string_view key,
                     const std::optional<MsInterval>& interval) {
  json.Key(key);
  WriteJson(interval ? Cell(*interval) : Cell(), json);
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
      WriteRow(columns::Steps(), {&row, &file}, json);
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

/// Writes the rows of all files in the order of the files.
template <typename Row>
void WriteByFile(JsonWriter& json, std::string_view key, ReportColumns<RowOfFile<Row>> columns,
                 std::vector<Row> TraceReport::*list, const JobReport& job) {
  json.Key(key).BeginArray(Layout::kLines);
  for (const TraceReport& file : job.files()) {
    for (const Row& row : file.*list) WriteRow(columns, {&row, &file}, json);
  }
  json.EndArray();
}

/// Writes the rows of all files, the largest first.
template <typename Row>
void WriteLargest(JsonWriter& json, std::string_view key, ReportColumns<RowOfFile<Row>> columns,
                  std::vector<Row> TraceReport::*list, const JobReport& job,
                  std::optional<std::size_t> top) {
  json.Key(key).BeginArray(Layout::kLines);
  for (const RowOfFile<Row>& row : job.Rows(list, top)) WriteRow(columns, row, json);
  json.EndArray();
}

void WriteParts(JsonWriter& json, const BreakdownParts& parts) {
  for (const BreakdownPart& part : kBreakdownParts)
    json.Key(std::string(part.name) + "_ms").Milliseconds(parts.*part.time);
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

/// Writes the time range of breakdown, bottleneck and findings if there are no steps.
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

/// Columns of an action's title.
constexpr std::size_t kTitleWidth = 64;

void WriteSummary(JsonWriter& json, const JobReport& job, const ReportOptions& options) {
  const Summary summary = SummaryOf(job, options);
  json.Key("summary").BeginObject(Layout::kLines);
  WriteMsInterval(json, "step_ms", summary.step_ms);
  json.Key("recorded_ms").Milliseconds(summary.recorded);
  json.Key("gpu_busy_ms").Milliseconds(summary.gpu_busy);
  json.Key("samples_per_s").Number(summary.samples_per_s);
  json.Key("tokens_per_s").Number(summary.tokens_per_s);
  json.Key("peak_memory_bytes").Integer(summary.peak_memory_bytes);
  json.Key("parts_of").String(summary.parts_of == PartsOf::kStep ? "step" : "gpu_time");
  json.Key("parts").BeginArray(Layout::kLines);
  for (const SummaryPart& part : summary.parts) {
    json.BeginObject();
    json.Key("name").String(part.name);
    json.Key("share_pct").Number(part.share_pct);
    json.Key("busy_pct").Number(part.busy_pct);
    json.EndObject();
  }
  json.EndArray();
  json.Key("actions").BeginArray(Layout::kLines);
  for (const SummaryAction& action : summary.actions) {
    json.BeginObject();
    json.Key("finding").String(action.finding->id);
    json.Key("title").String(Sentence(ActionTitle(*action.finding, kTitleWidth)));
    WriteMsInterval(json, "saves_ms", action.finding->saves_ms);
    json.Key("upper_bound").Bool(action.upper_bound);
    json.Key("speedup").Number(action.speedup);
    json.Key("scenario").StringOrNull(action.finding->scenario);
    json.Key("command").String(ShellCommand(action.command));
    json.EndObject();
  }
  json.EndArray();
  json.Key("no_action").StringOrNull(summary.no_action);
  json.Key("note").StringOrNull(summary.note);
  json.Key("rank").Integer(summary.rank);
  json.Key("rank_note").StringOrNull(summary.rank_note);
  json.EndObject();
}

void WriteBottleneck(JsonWriter& json, const JobReport& job) {
  const Bottleneck& bottleneck = job.slowest().bottleneck;
  json.Key("bottleneck").BeginObject(Layout::kLines);
  json.Key("verdict").String(NameOf(bottleneck.verdict));
  json.Key("sentence").String(VerdictSentence(bottleneck));
  json.Key("share_pct").Number(bottleneck.share_pct);
  json.Key("confidence").StringOrNull(bottleneck.confidence);
  json.Key("confidence_reason").StringOrNull(bottleneck.confidence_reason);
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
  // If the engine failed, a replay error of 0 means that nothing was replayed.
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
  WriteColumns(columns::Findings(), {finding, &options}, json);
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

void WriteUnits(JsonWriter& json, const UnitUse& units) {
  json.Key("sm_active_pct").Number(units.sm_active_pct);
  json.Key("tensor_active_pct").Number(units.tensor_active_pct);
  json.Key("dram_active_pct").Number(units.dram_active_pct);
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
  WriteByFile(json, "gpu_time", columns::GpuTime(), &TraceReport::gpu_time, job);
  WriteByFile(json, "idle", columns::Idle(), &TraceReport::idle, job);
  WriteStretch(json, job);
  WriteBreakdown(json, job);
  WriteSummary(json, job, options);
  WriteBottleneck(json, job);
  WriteEngineWindow(json, job);
  WriteFindings(json, job, options);
  const std::optional<std::size_t> top = options.top;
  WriteLargest(json, "kernels", columns::Times(TimeTable::kKernels), &TraceReport::kernels, job,
               top);
  WriteLargest(json, "operators", columns::Times(TimeTable::kOperators), &TraceReport::operators,
               job, top);
  WriteLargest(json, "layers", columns::Times(TimeTable::kLayers), &TraceReport::layers, job, top);
  WriteLargest(json, "lines", columns::Lines(), &TraceReport::lines, job, top);
  WriteLargest(json, "stacks", columns::Stacks(), &TraceReport::stacks, job, top);
  WriteLargest(json, "classes", columns::Classes(), &TraceReport::classes, job, std::nullopt);
  WriteLargest(json, "syncs", columns::Syncs(), &TraceReport::syncs, job, top);
  WriteEfficiency(json, job);
  WriteLargest(json, "regions", columns::Regions(), &TraceReport::regions, job, top);
  WriteRegionsOverRanks(json, job);
  WriteByFile(json, "timings", columns::Timings(), &TraceReport::timings, job);
  WriteLargest(json, "callbacks", columns::Callbacks(), &TraceReport::callbacks, job, top);
  WriteByFile(json, "metrics", columns::Metrics(), &TraceReport::metrics, job);
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
    for (const RowOfFile<TimeRow>& row : found.times) WriteRow(columns::Times(table), row, json);
  }
  for (const RowOfFile<StepRow>& row : found.steps) WriteRow(columns::Steps(), row, json);
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
