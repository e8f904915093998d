#include "answers/report/columns.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "answers/report/phrases.h"
#include "answers/report/ranks_phrases.h"
#include "render/escape.h"
#include "render/row_id.h"

namespace headroom {
namespace {

constexpr CsvPlace kFirst = CsvPlace::kFirst;
constexpr CsvPlace kLast = CsvPlace::kLast;

Cell Whole(std::optional<std::int64_t> value) { return value ? Cell(*value) : Cell(); }
Cell Number(std::optional<double> value) { return value ? Cell(*value) : Cell(); }
Cell Ms(std::optional<DurationNs> time) {
  return time ? Cell(Decimal{DecimalOf(time->ns(), 6)}) : Cell();
}
Cell Us(std::optional<DurationNs> time) {
  return time ? Cell(Decimal{DecimalOf(time->ns(), 3)}) : Cell();
}
Cell Text(std::string_view text) { return std::string(text); }
Cell TextOrNone(std::string_view text) { return text.empty() ? Cell() : Text(text); }

template <typename Row>
Cell RankOf(const RowOfFile<Row>& r) {
  return Whole(r.rank());
}

constexpr ReportColumn<RowOfFile<StepRow>> kSteps[] = {
    {"index", [](const auto& r) { return Whole(r.row->index); }},
    {"rank", RankOf, kFirst},
    {"start_ms", [](const auto& r) { return Ms(r.row->start - r.file->trace_start); }},
    {"wall_ms", [](const auto& r) { return Ms(r.row->wall); }},
    {"gpu_busy_ms", [](const auto& r) { return Ms(r.row->gpu_busy); }},
    {"host_ms", [](const auto& r) { return Ms(r.row->host); }},
    {"host_wait_ms", [](const auto& r) { return Ms(r.row->host_wait); }},
    {"profiler_cost_ms", [](const auto& r) { return Ms(r.row->profiler_cost); }},
    {"queue_depth_mean", [](const auto& r) { return Number(r.row->queue_depth_mean); }},
    {"queue_depth_max", [](const auto& r) { return Whole(r.row->queue_depth_max); }},
    {"whole", [](const auto& r) { return Cell(!r.row->lost_tasks); }},
    {"counted", [](const auto& r) { return Cell(r.row->Counts()); }},
    {"kind", [](const auto& r) { return TextOrNone(NameOf(r.row->kind)); }},
    {"tokens", [](const auto& r) { return Whole(r.row->tokens); }},
};

constexpr ReportColumn<RowOfFile<GpuTimeRow>> kGpuTime[] = {
    {"rank", RankOf},
    {"device", [](const auto& r) { return Whole(r.row->device); }},
    {"span_ms", [](const auto& r) { return Ms(r.row->span); }},
    {"busy_ms", [](const auto& r) { return Ms(r.row->busy); }},
    {"compute_ms", [](const auto& r) { return Ms(r.row->compute); }},
    {"communication_ms", [](const auto& r) { return Ms(r.row->communication); }},
    {"memory_ms", [](const auto& r) { return Ms(r.row->memory); }},
    {"exposed_communication_ms", [](const auto& r) { return Ms(r.row->exposed_communication); }},
    {"exposed_memory_ms", [](const auto& r) { return Ms(r.row->exposed_memory); }},
    {"idle_ms", [](const auto& r) { return Ms(r.row->idle); }},
    {"overlap_communication_pct",
     [](const auto& r) { return Number(r.row->overlap_communication_pct); }},
};

constexpr ReportColumn<RowOfFile<IdleRow>> kIdle[] = {
    {"rank", RankOf},
    {"device", [](const auto& r) { return Whole(r.row->device); }},
    {"stream", [](const auto& r) { return Whole(r.row->stream); }},
    {"host_wait_ms", [](const auto& r) { return Ms(r.row->host_wait); }},
    {"kernel_wait_ms", [](const auto& r) { return Ms(r.row->kernel_wait); }},
    {"other_ms", [](const auto& r) { return Ms(r.row->other); }},
};

using RankedTime = RowOfFile<TimeRow>;

/// Returns an empty cell if the file has no GPU work: 0 would claim a measurement.
Cell GpuUs(const RankedTime& r, DurationNs time) {
  return r.file->gpu_time.empty() ? Cell() : Us(time);
}

template <TimeTable kTable>
Cell IdOf(const RankedTime& r) {
  return RowId(KindOf(kTable), r.row->name);
}

template <TimeTable kTable>
constexpr ReportColumn<RankedTime> kId = {"id", IdOf<kTable>, kLast};

constexpr std::array<ReportColumn<RankedTime>, 8> kCalls = {{
    {"name", [](const auto& r) { return Text(r.row->name); }},
    {"rank", RankOf, kFirst},
    {"count", [](const auto& r) { return Whole(r.row->count); }},
    {"total_us", [](const auto& r) { return GpuUs(r, r.row->total); }},
    {"mean_us",
     [](const auto& r) {
       const bool known = !r.file->gpu_time.empty() && r.row->count > 0;
       return known ? Cell(Decimal{MeanUs(r.row->total, r.row->count)}) : Cell();
     }},
    {"p50_us", [](const auto& r) { return GpuUs(r, r.row->p50); }},
    {"min_us", [](const auto& r) { return GpuUs(r, r.row->min); }},
    {"max_us", [](const auto& r) { return GpuUs(r, r.row->max); }},
}};
constexpr std::array<ReportColumn<RankedTime>, 1> kShare = {{
    {"share_pct",
     [](const auto& r) { return r.file->gpu_time.empty() ? Cell() : Number(r.row->share_pct); }},
}};
constexpr std::array<ReportColumn<RankedTime>, 4> kHost = {{
    {"host_us", [](const auto& r) { return Us(r.row->host); }},
    {"self_host_us", [](const auto& r) { return Us(r.row->self_host); }},
    {"forward_us", [](const auto& r) { return Us(r.row->forward); }},
    {"backward_us", [](const auto& r) { return Us(r.row->backward); }},
}};
constexpr std::array<ReportColumn<RankedTime>, 4> kRoofline = {{
    {"flops", [](const auto& r) { return Number(r.row->flops); }},
    {"bytes", [](const auto& r) { return Number(r.row->bytes); }},
    {"bound", [](const auto& r) { return TextOrNone(r.row->bound); }},
    {"roofline_pct", [](const auto& r) { return Number(r.row->roofline_pct); }},
}};
constexpr std::array<ReportColumn<RankedTime>, 6> kOfKernel = {{
    {"per_step_us", [](const auto& r) { return Us(r.row->per_step); }},
    {"class", [](const auto& r) { return TextOrNone(r.row->kind); }},
    {"tensor_cores", [](const auto& r) { return TextOrNone(r.row->tensor_cores); }},
    {"sm_active_pct", [](const auto& r) { return Number(r.row->units.sm_active_pct); }},
    {"tensor_active_pct", [](const auto& r) { return Number(r.row->units.tensor_active_pct); }},
    {"dram_active_pct", [](const auto& r) { return Number(r.row->units.dram_active_pct); }},
}};
constexpr std::array<ReportColumn<RankedTime>, 1> kFamily = {{
    {"family", [](const auto& r) { return TextOrNone(r.row->kind); }},
}};

/// Joins the columns of several arrays.
template <std::size_t... kSizes>
constexpr auto Joined(const std::array<ReportColumn<RankedTime>, kSizes>&... parts) {
  std::array<ReportColumn<RankedTime>, (kSizes + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& part) {
    for (const ReportColumn<RankedTime>& column : part) all[next++] = column;
  };
  (append(parts), ...);
  return all;
}

constexpr auto kKernels =
    Joined(std::array{kId<TimeTable::kKernels>}, kCalls, kShare, kRoofline, kOfKernel);
constexpr auto kOperators =
    Joined(std::array{kId<TimeTable::kOperators>}, kCalls, kShare, kHost, kRoofline, kFamily);
constexpr auto kLayers =
    Joined(std::array{kId<TimeTable::kLayers>}, kCalls, kShare, kHost, kRoofline);

constexpr ReportColumn<RowOfFile<LineRow>> kLines[] = {
    {"location", [](const auto& r) { return Text(r.row->location); }},
    {"rank", RankOf, kFirst},
    {"count", [](const auto& r) { return Whole(r.row->count); }},
    {"total_us", [](const auto& r) { return Us(r.row->total); }},
    {"forward_us", [](const auto& r) { return Us(r.row->forward); }},
    {"backward_us", [](const auto& r) { return Us(r.row->backward); }},
    {"share_pct", [](const auto& r) { return Number(r.row->share_pct); }},
};

constexpr ReportColumn<RowOfFile<StackRow>> kStacks[] = {
    {"stack", [](const auto& r) { return Text(r.row->stack); }},
    {"rank", RankOf, kFirst},
    {"part", [](const auto& r) { return Text(r.row->part); }},
    {"samples", [](const auto& r) { return Whole(r.row->samples); }},
    {"total_ms", [](const auto& r) { return Ms(r.row->total); }},
    {"share_pct", [](const auto& r) { return Number(r.row->share_pct); }},
};

constexpr ReportColumn<RowOfFile<ClassRow>> kClasses[] = {
    {"name", [](const auto& r) { return Text(r.row->name); }},
    {"rank", RankOf, kFirst},
    {"count", [](const auto& r) { return Whole(r.row->count); }},
    {"total_us", [](const auto& r) { return Us(r.row->total); }},
    {"share_pct", [](const auto& r) { return Number(r.row->share_pct); }},
};

constexpr ReportColumn<RowOfFile<SyncRow>> kSyncs[] = {
    {"name", [](const auto& r) { return Text(r.row->name); }},
    {"where", [](const auto& r) { return TextOrNone(r.row->where); }},
    {"rank", RankOf, kFirst},
    {"count", [](const auto& r) { return Whole(r.row->count); }},
    {"host_us", [](const auto& r) { return Us(r.row->host); }},
    {"gpu_idle_us", [](const auto& r) { return Us(r.row->gpu_idle); }},
    {"median_step_gpu_idle_us", [](const auto& r) { return Us(r.row->in_median_step); }},
    {"mean_step_gpu_idle_us", [](const auto& r) { return Us(r.row->in_mean_step); }},
};

const Finding& Of(const FindingToShow& shown) { return *shown.finding.row; }

constexpr ReportColumn<FindingToShow> kFindings[] = {
    {"rank", [](const auto& f) { return Whole(f.finding.rank()); }, kFirst, false},
    {"id", [](const auto& f) { return Text(Of(f).id); }},
    {"title", [](const auto& f) { return Text(Of(f).title); }},
    {"share_pct", [](const auto& f) { return Number(Of(f).share_pct); }},
    {"saves_ms", [](const auto& f) { return Of(f).saves_ms ? Cell(*Of(f).saves_ms) : Cell(); }},
    {"saves_note", [](const auto& f) { return TextOrNone(Of(f).saves_note); }, kLast},
    {"evidence", [](const auto& f) { return Cell(Of(f).evidence); }},
    {"action", [](const auto& f) { return Text(Of(f).action); }},
    {"check", [](const auto& f) { return Text(CheckCommand(Of(f), *f.finding.file, *f.options)); }},
    {"figure", [](const auto& f) { return TextOrNone(Of(f).figure); }},
    {"whatif",
     [](const auto& f) { return TextOrNone(ForecastCommand(Of(f), *f.finding.file, *f.options)); },
     kLast},
    {"scenario", [](const auto& f) { return TextOrNone(Of(f).scenario); }, kLast},
};

constexpr ReportColumn<RowOfFile<RegionRow>> kRegions[] = {
    {"key", [](const auto& r) { return Text(r.row->key); }},
    {"rank", RankOf, kFirst},
    {"count", [](const auto& r) { return Whole(r.row->count); }},
    {"total_ms", [](const auto& r) { return Ms(r.row->total); }},
    {"self_ms", [](const auto& r) { return Ms(r.row->self); }},
    {"p50_ms", [](const auto& r) { return Ms(r.row->p50); }},
    {"p99_ms", [](const auto& r) { return Ms(r.row->p99); }},
    {"gpu_ms", [](const auto& r) { return Ms(r.row->gpu); }},
    {"min_ms", [](const auto& r) { return Ms(r.row->min); }},
    {"max_ms", [](const auto& r) { return Ms(r.row->max); }},
    {"mean_ms", [](const auto& r) { return Ms(r.row->mean); }},
    {"stdev_ms", [](const auto& r) { return Ms(r.row->stdev); }},
};

constexpr ReportColumn<RowOfFile<TimingRow>> kTimings[] = {
    {"name", [](const auto& r) { return Text(r.row->name); }},
    {"rank", RankOf, kFirst},
    {"inside", [](const auto& r) { return TextOrNone(r.row->inside); }},
    {"count", [](const auto& r) { return Whole(r.row->count); }},
    {"total_ms", [](const auto& r) { return Ms(r.row->total); }},
    {"mean_ms", [](const auto& r) { return Ms(r.row->mean); }},
    {"p50_ms", [](const auto& r) { return Ms(r.row->p50); }},
    {"p99_ms", [](const auto& r) { return Ms(r.row->p99); }},
    {"share_pct", [](const auto& r) { return Number(r.row->share_pct); }},
    {"gpu_ms", [](const auto& r) { return Ms(r.row->gpu); }},
    {"source", [](const auto& r) { return Text(r.row->source); }},
};

constexpr ReportColumn<RowOfFile<CallbackRow>> kCallbacks[] = {
    {"event", [](const auto& r) { return TextOrNone(r.row->event); }},
    {"callback", [](const auto& r) { return Text(r.row->callback); }},
    {"rank", RankOf, kFirst},
    {"count", [](const auto& r) { return Whole(r.row->count); }},
    {"total_ms", [](const auto& r) { return Ms(r.row->total); }},
    {"self_ms", [](const auto& r) { return Ms(r.row->self); }},
    {"in_steps_ms", [](const auto& r) { return Ms(r.row->in_steps); }, kLast},
    {"share_pct", [](const auto& r) { return Number(r.row->share_pct); }},
};

constexpr ReportColumn<RowOfFile<MetricRow>> kMetrics[] = {
    {"name", [](const auto& r) { return Text(r.row->name); }},
    {"rank", RankOf, kFirst},
    {"unit", [](const auto& r) { return TextOrNone(r.row->unit); }},
    {"host", [](const auto& r) { return TextOrNone(r.row->host); }},
    {"gpu", [](const auto& r) { return Whole(r.row->gpu); }},
    {"instance", [](const auto& r) { return TextOrNone(r.row->instance); }},
    {"mean", [](const auto& r) { return Number(r.row->mean); }},
    {"min", [](const auto& r) { return Number(r.row->min); }},
    {"max", [](const auto& r) { return Number(r.row->max); }},
    {"last", [](const auto& r) { return Number(r.row->last); }},
    {"samples", [](const auto& r) { return Whole(r.row->samples); }},
};

constexpr ReportColumn<HolderOfDevice> kHolders[] = {
    {"rank", [](const auto& h) { return Whole(h.file->input.rank); }, kFirst, false},
    {"device", [](const auto& h) { return Whole(h.use->device); }, kFirst, false},
    {"process", [](const auto& h) { return TextOrNone(h.use->process); }, kFirst, false},
    {"operator", [](const auto& h) { return TextOrNone(h.holder->operator_name); }},
    {"layer", [](const auto& h) { return TextOrNone(h.holder->layer); }},
    {"line", [](const auto& h) { return TextOrNone(h.holder->line); }, kLast},
    {"kind", [](const auto& h) { return Text(h.holder->kind); }},
    {"bytes", [](const auto& h) { return Whole(h.holder->bytes); }},
    {"allocations", [](const auto& h) { return Whole(h.holder->allocations); }},
};

const RankWaits& WaitsOf(const RowOfRanks& r) { return r.job->waits.ranks[r.index]; }
const RankClock& ClockOf(const RowOfRanks& r) { return r.job->alignment.clocks[r.index]; }

/// Returns `cell`, or an empty cell if the rank's clock is not aligned.
Cell Known(const RowOfRanks& r, Cell cell) { return ClockOf(r).aligned ? std::move(cell) : Cell(); }

/// Returns the rank's work; nullptr if the work of the ranks is unknown.
const RankWork* WorkOf(const RowOfRanks& r) {
  return r.job->work.ranks.empty() ? nullptr : &r.job->work.ranks[r.index];
}

Cell RankNumber(const RowOfRanks& r) { return Whole(r.job->ranks[r.index].rank); }

constexpr ReportColumn<RowOfRanks> kWaits[] = {
    {"rank", RankNumber},
    {"waited_ms", [](const auto& r) { return Known(r, Ms(WaitsOf(r).waited)); }},
    {"caused_ms", [](const auto& r) { return Known(r, Ms(WaitsOf(r).caused)); }},
    {"last_count", [](const auto& r) { return Known(r, Whole(WaitsOf(r).last)); }},
    {"culprit_steps", [](const auto& r) { return Known(r, Whole(WaitsOf(r).culprit)); }},
    {"computing_ms", [](const auto& r) { return WorkOf(r) ? Ms(WorkOf(r)->computing) : Cell(); }},
    {"work", [](const auto& r) { return WorkOf(r) ? Number(WorkOf(r)->work) : Cell(); }},
};

constexpr double kPerMillion = 1e6;

constexpr ReportColumn<RowOfRanks> kClocks[] = {
    {"rank", RankNumber},
    {"host", [](const auto& r) { return TextOrNone(r.job->ranks[r.index].host); }},
    {"aligned", [](const auto& r) { return Cell(ClockOf(r).aligned); }},
    {"reference_rank",
     [](const auto& r) {
       return ClockOf(r).aligned ? Whole(r.job->ranks[ClockOf(r).root].rank) : Cell();
     }},
    {"offset_ms", [](const auto& r) { return Known(r, Ms(DurationNs(ClockOf(r).offset_ns))); }},
    {"drift_ppm", [](const auto& r) { return Known(r, Number(kPerMillion * ClockOf(r).drift)); }},
    {"uncertainty_us", [](const auto& r) { return Known(r, Us(ClockOf(r).uncertainty)); }},
    {"matches", [](const auto& r) { return Whole(static_cast<std::int64_t>(ClockOf(r).matches)); }},
};

const CollectiveClass& ClassOf(const RowOfRanks& r) { return r.job->waits.classes[r.index]; }

constexpr ReportColumn<RowOfRanks> kCollectives[] = {
    {"kind", [](const auto& r) { return Text(ClassOf(r).kind); }},
    {"group", [](const auto& r) { return TextOrNone(ClassOf(r).group); }},
    {"axis",
     [](const auto& r) {
       const GroupAxis* group = FindAxis(*r.job, ClassOf(r).group);
       return group != nullptr && group->axis ? Text(Name(*group->axis)) : Cell();
     }},
    {"bytes", [](const auto& r) { return Number(ClassOf(r).bytes); }},
    {"count", [](const auto& r) { return Whole(ClassOf(r).count); }},
    {"ranks", [](const auto& r) { return Whole(ClassOf(r).ranks); }},
    {"members", [](const auto& r) { return Whole(ClassOf(r).members); }},
    {"wait_us", [](const auto& r) { return Us(ClassOf(r).wait); }},
    {"transfer_us", [](const auto& r) { return Us(ClassOf(r).transfer); }},
    {"exposed_us", [](const auto& r) { return Us(ClassOf(r).exposed); }},
    {"hidden_us", [](const auto& r) { return Us(ClassOf(r).hidden); }},
    {"algorithm_gbs", [](const auto& r) { return Number(ClassOf(r).algorithm_gbs); }},
    {"bus_gbs", [](const auto& r) { return Number(ClassOf(r).bus_gbs); }},
};

/// Writes each kind of value for JSON.
struct JsonOf {
  JsonWriter& json;

  void operator()(std::monostate) const { json.Null(); }
  void operator()(bool value) const { json.Bool(value); }
  void operator()(std::int64_t value) const { json.Integer(value); }
  void operator()(double value) const { json.Number(value); }
  void operator()(const Decimal& value) const { json.Raw(value.digits); }
  void operator()(const std::string& text) const { json.String(text); }
  void operator()(const MsInterval& interval) const {
    json.BeginObject();
    json.Key("low").Number(interval.low);
    json.Key("mid").Number(interval.mid);
    json.Key("high").Number(interval.high);
    json.EndObject();
  }
  void operator()(const std::vector<std::string>& sentences) const {
    json.BeginArray();
    for (const std::string& text : sentences) json.String(text);
    json.EndArray();
  }
};

/// Writes each kind of value for CSV.
struct CsvOf {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const {
    return std::isfinite(value) ? fmt::format("{}", value) : "";
  }
  std::string operator()(const Decimal& value) const { return value.digits; }
  std::string operator()(const std::string& text) const { return CsvField(text); }
  std::string operator()(const MsInterval& interval) const { return (*this)(interval.mid); }
  std::string operator()(const std::vector<std::string>& sentences) const {
    std::string text;
    for (const std::string& sentence : sentences)
      text += (text.empty() ? "" : " ") + FullSentence(sentence);
    return CsvField(text);
  }
};

}  // namespace

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

namespace columns {

ReportColumns<RowOfFile<TimeRow>> Times(TimeTable table) {
  switch (table) {
    case TimeTable::kKernels:
      return kKernels;
    case TimeTable::kOperators:
      return kOperators;
    case TimeTable::kLayers:
      return kLayers;
  }
  return {};
}

ReportColumns<RowOfFile<StepRow>> Steps() { return kSteps; }
ReportColumns<RowOfFile<GpuTimeRow>> GpuTime() { return kGpuTime; }
ReportColumns<RowOfFile<IdleRow>> Idle() { return kIdle; }
ReportColumns<RowOfFile<LineRow>> Lines() { return kLines; }
ReportColumns<RowOfFile<StackRow>> Stacks() { return kStacks; }
ReportColumns<RowOfFile<ClassRow>> Classes() { return kClasses; }
ReportColumns<RowOfFile<SyncRow>> Syncs() { return kSyncs; }
ReportColumns<FindingToShow> Findings() { return kFindings; }
ReportColumns<RowOfFile<RegionRow>> Regions() { return kRegions; }
ReportColumns<RowOfFile<TimingRow>> Timings() { return kTimings; }
ReportColumns<RowOfFile<CallbackRow>> Callbacks() { return kCallbacks; }
ReportColumns<RowOfFile<MetricRow>> Metrics() { return kMetrics; }
ReportColumns<HolderOfDevice> Holders() { return kHolders; }
ReportColumns<RowOfRanks> Waits() { return kWaits; }
ReportColumns<RowOfRanks> Clocks() { return kClocks; }
ReportColumns<RowOfRanks> Collectives() { return kCollectives; }

}  // namespace columns

void WriteJson(const Cell& cell, JsonWriter& json) { std::visit(JsonOf{json}, cell); }

std::string CsvText(const Cell& cell) { return std::visit(CsvOf{}, cell); }

}  // namespace headroom
