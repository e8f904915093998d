#include "answers/report/csv.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/loop/memory_use.h"
#include "answers/report/phrases.h"
#include "answers/report/ranks.h"
#include "render/escape.h"
#include "render/json_writer.h"
#include "render/row_id.h"

namespace headroom {
namespace {

std::string Text(std::string_view text) { return CsvField(text); }
std::string Whole(std::int64_t value) { return fmt::format("{}", value); }
std::string Whole(std::optional<std::int64_t> value) { return value ? Whole(*value) : ""; }
std::string Number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : ""; }
std::string Number(std::optional<double> value) { return value ? Number(*value) : ""; }
std::string Ms(DurationNs duration) { return DecimalOf(duration.ns(), 6); }
std::string Ms(std::optional<DurationNs> duration) { return duration ? Ms(*duration) : ""; }
std::string Us(DurationNs duration) { return DecimalOf(duration.ns(), 3); }
std::string Us(std::optional<DurationNs> duration) { return duration ? Us(*duration) : ""; }

/// The text of one CSV file.
class Table {
 public:
  explicit Table(std::string_view header) : text_(header) { text_ += "\r\n"; }

  /// Fields are CSV already.
  void Row(const std::vector<std::string>& fields) {
    bool first = true;
    for (const std::string& field : fields) {
      if (!first) text_.push_back(',');
      first = false;
      text_ += field;
    }
    text_ += "\r\n";
  }

  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
};

std::string StepsCsv(const JobReport& job) {
  Table table(
      "rank,index,start_ms,wall_ms,gpu_busy_ms,host_ms,host_wait_ms,profiler_cost_ms,"
      "queue_depth_mean,queue_depth_max,whole,counted,kind,tokens");
  for (const TraceReport& file : job.files()) {
    for (const StepRow& row : file.steps.list) {
      table.Row({Whole(file.input.rank), Whole(row.index), Ms(row.start - file.trace_start),
                 Ms(row.wall), Ms(row.gpu_busy), Ms(row.host), Ms(row.host_wait),
                 Ms(row.profiler_cost), Number(row.queue_depth_mean), Whole(row.queue_depth_max),
                 row.lost_tasks ? "false" : "true", row.Counts() ? "true" : "false",
                 std::string(NameOf(row.kind)), Whole(row.tokens)});
    }
  }
  return std::move(table).Take();
}

std::string GpuTimeCsv(const JobReport& job) {
  Table table(
      "rank,device,span_ms,busy_ms,compute_ms,communication_ms,memory_ms,exposed_communication_ms,"
      "exposed_memory_ms,idle_ms,overlap_communication_pct");
  for (const TraceReport& file : job.files()) {
    for (const GpuTimeRow& row : file.gpu_time) {
      table.Row({Whole(file.input.rank), Whole(row.device), Ms(row.span), Ms(row.busy),
                 Ms(row.compute), Ms(row.communication), Ms(row.memory),
                 Ms(row.exposed_communication), Ms(row.exposed_memory), Ms(row.idle),
                 Number(row.overlap_communication_pct)});
    }
  }
  return std::move(table).Take();
}

std::string IdleCsv(const JobReport& job) {
  Table table("rank,device,stream,host_wait_ms,kernel_wait_ms,other_ms");
  for (const TraceReport& file : job.files()) {
    for (const IdleRow& row : file.idle) {
      table.Row({Whole(file.input.rank), Whole(row.device), Whole(row.stream), Ms(row.host_wait),
                 Ms(row.kernel_wait), Ms(row.other)});
    }
  }
  return std::move(table).Take();
}

std::string GpuUs(const RowOfFile<TimeRow>& row, DurationNs duration) {
  return row.file->gpu_time.empty() ? "" : Us(duration);
}

/// A column of the kernels, operators or layers, which differ in what can be known.
struct TimeColumn {
  std::string_view key;
  std::string (*field)(const RowOfFile<TimeRow>&);
  bool of_kernels = true, of_operators = true, of_layers = true;
};

using TimeCell = const RowOfFile<TimeRow>&;

constexpr TimeColumn kTimeColumns[] = {
    {"rank", [](TimeCell r) { return Whole(r.rank()); }},
    {"name", [](TimeCell r) { return Text(r.row->name); }},
    {"count", [](TimeCell r) { return Whole(r.row->count); }},
    {"total_us", [](TimeCell r) { return GpuUs(r, r.row->total); }},
    {"mean_us",
     [](TimeCell r) {
       const bool known = !r.file->gpu_time.empty() && r.row->count > 0;
       return known ? MeanUs(r.row->total, r.row->count) : "";
     }},
    {"p50_us", [](TimeCell r) { return GpuUs(r, r.row->p50); }},
    {"min_us", [](TimeCell r) { return GpuUs(r, r.row->min); }},
    {"max_us", [](TimeCell r) { return GpuUs(r, r.row->max); }},
    {"share_pct",
     [](TimeCell r) { return r.file->gpu_time.empty() ? "" : Number(r.row->share_pct); }},
    {"host_us", [](TimeCell r) { return Us(r.row->host); }, false},
    {"self_host_us", [](TimeCell r) { return Us(r.row->self_host); }, false},
    {"forward_us", [](TimeCell r) { return Us(r.row->forward); }, false},
    {"backward_us", [](TimeCell r) { return Us(r.row->backward); }, false},
    {"flops", [](TimeCell r) { return Number(r.row->flops); }},
    {"bytes", [](TimeCell r) { return Number(r.row->bytes); }},
    {"bound", [](TimeCell r) { return Text(r.row->bound); }},
    {"roofline_pct", [](TimeCell r) { return Number(r.row->roofline_pct); }},
    {"class", [](TimeCell r) { return Text(r.row->kind); }, true, false, false},
    {"tensor_cores", [](TimeCell r) { return Text(r.row->tensor_cores); }, true, false, false},
    {"sm_active_pct", [](TimeCell r) { return Number(r.row->units.sm_active_pct); }, true, false,
     false},
    {"tensor_active_pct", [](TimeCell r) { return Number(r.row->units.tensor_active_pct); }, true,
     false, false},
    {"dram_active_pct", [](TimeCell r) { return Number(r.row->units.dram_active_pct); }, true,
     false, false},
    {"family", [](TimeCell r) { return Text(r.row->kind); }, false, true, false},
    {"id", [](TimeCell r) { return RowId("kernel", r.row->name); }, true, false, false},
    {"id", [](TimeCell r) { return RowId("operator", r.row->name); }, false, true, false},
    {"id", [](TimeCell r) { return RowId("layer", r.row->name); }, false, false, true},
};

std::string TimeCsv(const JobReport& job, std::vector<TimeRow> TraceReport::*list,
                    bool TimeColumn::*in_list, const ReportOptions& options) {
  std::string header;
  for (const TimeColumn& column : kTimeColumns) {
    if (!(column.*in_list)) continue;
    if (!header.empty()) header.push_back(',');
    header += column.key;
  }
  Table table(header);
  for (const RowOfFile<TimeRow>& row : job.Rows(list, options.top)) {
    std::vector<std::string> fields;
    for (const TimeColumn& column : kTimeColumns) {
      if (column.*in_list) fields.push_back(column.field(row));
    }
    table.Row(fields);
  }
  return std::move(table).Take();
}

std::string LinesCsv(const JobReport& job, const ReportOptions& options) {
  Table table("rank,location,count,total_us,forward_us,backward_us,share_pct");
  for (const RowOfFile<LineRow>& line : job.Rows(&TraceReport::lines, options.top)) {
    const LineRow& row = *line.row;
    table.Row({Whole(line.rank()), Text(row.location), Whole(row.count), Us(row.total),
               Us(row.forward), Us(row.backward), Number(row.share_pct)});
  }
  return std::move(table).Take();
}

std::string SyncsCsv(const JobReport& job, const ReportOptions& options) {
  Table table(
      "rank,name,where,count,host_us,gpu_idle_us,median_step_gpu_idle_us,mean_step_gpu_idle_us");
  for (const RowOfFile<SyncRow>& sync : job.Rows(&TraceReport::syncs, options.top)) {
    const SyncRow& row = *sync.row;
    table.Row({Whole(sync.rank()), Text(row.name), Text(row.where), Whole(row.count), Us(row.host),
               Us(row.gpu_idle), Us(row.in_median_step), Us(row.in_mean_step)});
  }
  return std::move(table).Take();
}

std::string ClassesCsv(const JobReport& job) {
  Table table("rank,name,count,total_us,share_pct");
  for (const RowOfFile<ClassRow>& ranked : job.Rows(&TraceReport::classes, std::nullopt)) {
    const ClassRow& row = *ranked.row;
    table.Row({Whole(ranked.rank()), Text(row.name), Whole(row.count), Us(row.total),
               Number(row.share_pct)});
  }
  return std::move(table).Take();
}

std::string RegionsCsv(const JobReport& job, const ReportOptions& options) {
  Table table(
      "rank,key,count,total_ms,self_ms,p50_ms,p99_ms,gpu_ms,min_ms,max_ms,mean_ms,stdev_ms");
  for (const RowOfFile<RegionRow>& ranked : job.Rows(&TraceReport::regions, options.top)) {
    const RegionRow& row = *ranked.row;
    table.Row({Whole(ranked.rank()), Text(row.key), Whole(row.count), Ms(row.total), Ms(row.self),
               Ms(row.p50), Ms(row.p99), Ms(row.gpu), Ms(row.min), Ms(row.max), Ms(row.mean),
               Ms(row.stdev)});
  }
  return std::move(table).Take();
}

std::string TimingsCsv(const JobReport& job) {
  Table table("rank,name,inside,count,total_ms,mean_ms,p50_ms,p99_ms,share_pct,gpu_ms,source");
  for (const TraceReport& file : job.files()) {
    for (const TimingRow& row : file.timings) {
      table.Row({Whole(file.input.rank), Text(row.name), Text(row.inside), Whole(row.count),
                 Ms(row.total), Ms(row.mean), Ms(row.p50), Ms(row.p99), Number(row.share_pct),
                 Ms(row.gpu), Text(row.source)});
    }
  }
  return std::move(table).Take();
}

std::string CallbacksCsv(const JobReport& job, const ReportOptions& options) {
  Table table("rank,event,callback,count,total_ms,self_ms,share_pct,in_steps_ms");
  for (const RowOfFile<CallbackRow>& ranked : job.Rows(&TraceReport::callbacks, options.top)) {
    const CallbackRow& row = *ranked.row;
    table.Row({Whole(ranked.rank()), Text(row.event), Text(row.callback), Whole(row.count),
               Ms(row.total), Ms(row.self), Number(row.share_pct), Ms(row.in_steps)});
  }
  return std::move(table).Take();
}

std::string MetricsCsv(const JobReport& job) {
  Table table("rank,name,unit,host,gpu,instance,mean,min,max,last,samples");
  for (const TraceReport& file : job.files()) {
    for (const MetricRow& row : file.metrics) {
      table.Row({Whole(file.input.rank), Text(row.name), Text(row.unit), Text(row.host),
                 Whole(row.gpu), Text(row.instance), Number(row.mean), Number(row.min),
                 Number(row.max), Number(row.last), Whole(row.samples)});
    }
  }
  return std::move(table).Take();
}

/// Who holds what at the peak.
std::string MemoryCsv(const JobReport& job) {
  Table table("rank,device,process,operator,layer,kind,bytes,allocations,line");
  for (const TraceReport& file : job.files()) {
    for (const MemoryUse& use : file.memory) {
      for (const MemoryPart& part : use.parts) {
        if (part.kind != kMemoryKinds.front()) continue;
        table.Row({Whole(file.input.rank), Whole(use.device), Text(use.process), "", "",
                   Text(part.kind), Whole(part.bytes), Whole(part.allocations), ""});
      }
      for (const MemoryHolder& row : use.holders) {
        table.Row({Whole(file.input.rank), Whole(use.device), Text(use.process),
                   Text(row.operator_name), Text(row.layer), Text(row.kind), Whole(row.bytes),
                   Whole(row.allocations), Text(row.line)});
      }
    }
  }
  return std::move(table).Take();
}

std::string FindingsCsv(const JobReport& job, const ReportOptions& options) {
  Table table("rank,id,title,share_pct,saves_ms,evidence,action,check,figure,saves_note,whatif");
  for (const RowOfFile<Finding>& finding : job.findings()) {
    std::string evidence;
    for (const std::string& sentence : finding.row->evidence) {
      if (!evidence.empty()) evidence.push_back(' ');
      evidence += FullSentence(sentence);
    }
    const std::optional<MsInterval>& saves = finding.row->saves_ms;
    table.Row({Whole(finding.rank()), Text(finding.row->id), Text(finding.row->title),
               Number(finding.row->share_pct),
               Number(saves ? std::optional(saves->mid) : std::nullopt), Text(evidence),
               Text(finding.row->action), Text(CheckCommand(*finding.row, *finding.file, options)),
               Text(finding.row->figure), Text(finding.row->saves_note),
               Text(ForecastCommand(*finding.row, *finding.file, options))});
  }
  return std::move(table).Take();
}

/// Of one file, no rows.
std::string WaitsCsv(const JobRanks* job) {
  Table table("rank,waited_ms,caused_ms,last_count,culprit_steps,computing_ms,work");
  for (std::size_t r = 0; job != nullptr && r < job->waits.ranks.size(); ++r) {
    const RankWaits& waits = job->waits.ranks[r];
    const RankWork* work = job->work.ranks.empty() ? nullptr : &job->work.ranks[r];
    const auto known = [&](const std::string& text) {
      return job->alignment.clocks[r].aligned ? text : "";
    };
    table.Row({Whole(job->ranks[r].rank), known(Ms(waits.waited)), known(Ms(waits.caused)),
               known(Whole(waits.last)), known(Whole(waits.culprit)),
               work != nullptr ? Ms(work->computing) : "",
               work != nullptr ? Number(work->work) : ""});
  }
  return std::move(table).Take();
}

/// Of one file, no rows.
std::string ClocksCsv(const JobRanks* job) {
  Table table("rank,host,aligned,reference_rank,offset_ms,drift_ppm,uncertainty_us,matches");
  for (std::size_t r = 0; job != nullptr && r < job->ranks.size(); ++r) {
    const RankClock& clock = job->alignment.clocks[r];
    const auto known = [&](const std::string& text) { return clock.aligned ? text : ""; };
    constexpr double kPerMillion = 1e6;
    table.Row({Whole(job->ranks[r].rank), Text(job->ranks[r].host),
               clock.aligned ? "true" : "false",
               clock.aligned ? Whole(job->ranks[clock.root].rank) : "",
               known(Ms(DurationNs(clock.offset_ns))), known(Number(kPerMillion * clock.drift)),
               known(Us(clock.uncertainty)), Whole(static_cast<std::int64_t>(clock.matches))});
  }
  return std::move(table).Take();
}

/// Of one file, no rows.
std::string CollectivesCsv(const JobRanks* job) {
  Table table(
      "kind,group,axis,bytes,count,ranks,members,wait_us,transfer_us,exposed_us,hidden_us,"
      "algorithm_gbs,bus_gbs");
  if (job == nullptr) return std::move(table).Take();
  for (const CollectiveClass& row : job->waits.classes) {
    const GroupAxis* group = FindAxis(*job, row.group);
    const std::string_view axis = group != nullptr && group->axis ? Name(*group->axis) : "";
    table.Row({Text(row.kind), Text(row.group), Text(axis), Number(row.bytes), Whole(row.count),
               Whole(row.ranks), Whole(row.members), Us(row.wait), Us(row.transfer),
               Us(row.exposed), Us(row.hidden), Number(row.algorithm_gbs), Number(row.bus_gbs)});
  }
  return std::move(table).Take();
}

}  // namespace

std::vector<NamedFile> RenderCsv(std::span<const TraceReport> files, const ReportOptions& options) {
  const JobReport job(files);
  std::array<std::string, kCsvFiles.size()> contents = {
      StepsCsv(job),
      GpuTimeCsv(job),
      IdleCsv(job),
      TimeCsv(job, &TraceReport::kernels, &TimeColumn::of_kernels, options),
      TimeCsv(job, &TraceReport::operators, &TimeColumn::of_operators, options),
      TimeCsv(job, &TraceReport::layers, &TimeColumn::of_layers, options),
      LinesCsv(job, options),
      SyncsCsv(job, options),
      FindingsCsv(job, options),
      ClassesCsv(job),
      RegionsCsv(job, options),
      TimingsCsv(job),
      CallbacksCsv(job, options),
      MetricsCsv(job),
      WaitsCsv(options.ranks),
      ClocksCsv(options.ranks),
      CollectivesCsv(options.ranks),
      MemoryCsv(job)};
  std::vector<NamedFile> tables;
  for (std::size_t i = 0; i < kCsvFiles.size(); ++i)
    tables.push_back({std::string(kCsvFiles[i]), std::move(contents[i])});
  return tables;
}

}  // namespace headroom
