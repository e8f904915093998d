#include "answers/report/csv.h"

#include <optional>
#include <string_view>
#include <utility>

#include "analysis/loop/memory_use.h"
#include "answers/report/columns.h"

namespace headroom {
namespace {

/// Returns the rows of all files in the order of the files.
template <typename Row>
std::string ByFileCsv(ReportColumns<RowOfFile<Row>> columns, std::vector<Row> TraceReport::*list,
                      const JobReport& job) {
  CsvWriter table(columns);
  for (const TraceReport& file : job.files()) {
    for (const Row& row : file.*list) table.Add({&row, &file});
  }
  return std::move(table).Take();
}

/// Returns the rows of all files, the largest first.
template <typename Row>
std::string LargestCsv(ReportColumns<RowOfFile<Row>> columns, std::vector<Row> TraceReport::*list,
                       const JobReport& job, std::optional<std::size_t> top) {
  CsvWriter table(columns);
  for (const RowOfFile<Row>& row : job.Rows(list, top)) table.Add(row);
  return std::move(table).Take();
}

std::string StepsCsv(const JobReport& job) {
  CsvWriter table(columns::Steps());
  for (const TraceReport& file : job.files()) {
    for (const StepRow& row : file.steps.list) table.Add({&row, &file});
  }
  return std::move(table).Take();
}

std::string FindingsCsv(const JobReport& job, const ReportOptions& options) {
  CsvWriter table(columns::Findings());
  for (const RowOfFile<Finding>& finding : job.findings()) table.Add({finding, &options});
  return std::move(table).Take();
}

/// Returns the holders of memory at the peak. Memory from before the recording has no holder.
std::string HoldersCsv(const JobReport& job) {
  CsvWriter table(columns::Holders());
  for (const TraceReport& file : job.files()) {
    for (const MemoryUse& use : file.memory) {
      for (const MemoryPart& part : use.parts) {
        if (part.kind != kMemoryKinds.front()) continue;
        MemoryHolder before_recording;
        before_recording.kind = part.kind;
        before_recording.bytes = part.bytes;
        before_recording.allocations = part.allocations;
        table.Add({&before_recording, &use, &file});
      }
      for (const MemoryHolder& holder : use.holders) table.Add({&holder, &use, &file});
    }
  }
  return std::move(table).Take();
}

/// Returns a table of the ranks. It has no rows if the job is a single file.
std::string RanksCsv(ReportColumns<RowOfRanks> columns, const JobRanks* job, std::size_t rows) {
  CsvWriter table(columns);
  for (std::size_t row = 0; row < rows; ++row) table.Add({job, row});
  return std::move(table).Take();
}

}  // namespace

std::vector<NamedFile> RenderCsv(std::span<const TraceReport> files, const ReportOptions& options) {
  const JobReport job(files);
  const std::optional<std::size_t> top = options.top;
  const JobRanks* const ranks = options.ranks;
  std::array<std::string, kCsvFiles.size()> contents = {
      StepsCsv(job),
      ByFileCsv(columns::GpuTime(), &TraceReport::gpu_time, job),
      ByFileCsv(columns::Idle(), &TraceReport::idle, job),
      LargestCsv(columns::Times(TimeTable::kKernels), &TraceReport::kernels, job, top),
      LargestCsv(columns::Times(TimeTable::kOperators), &TraceReport::operators, job, top),
      LargestCsv(columns::Times(TimeTable::kLayers), &TraceReport::layers, job, top),
      LargestCsv(columns::Lines(), &TraceReport::lines, job, top),
      LargestCsv(columns::Syncs(), &TraceReport::syncs, job, top),
      FindingsCsv(job, options),
      LargestCsv(columns::Classes(), &TraceReport::classes, job, std::nullopt),
      LargestCsv(columns::Regions(), &TraceReport::regions, job, top),
      ByFileCsv(columns::Timings(), &TraceReport::timings, job),
      LargestCsv(columns::Callbacks(), &TraceReport::callbacks, job, top),
      ByFileCsv(columns::Metrics(), &TraceReport::metrics, job),
      RanksCsv(columns::Waits(), ranks, ranks ? ranks->waits.ranks.size() : 0),
      RanksCsv(columns::Clocks(), ranks, ranks ? ranks->ranks.size() : 0),
      RanksCsv(columns::Collectives(), ranks, ranks ? ranks->waits.classes.size() : 0),
      HoldersCsv(job),
      LargestCsv(columns::Stacks(), &TraceReport::stacks, job, top)};
  std::vector<NamedFile> tables;
  for (std::size_t i = 0; i < kCsvFiles.size(); ++i)
    tables.push_back({std::string(kCsvFiles[i]), std::move(contents[i])});
  return tables;
}

}  // namespace headroom
