// The columns of the report's tables. JSON and CSV both use this declaration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"
#include "ranks/job_ranks.h"
#include "render/json_writer.h"

namespace headroom {

/// A number or time, with the same digits in both formats.
struct Decimal {
  std::string digits;
};

/// A value of a table. std::monostate is an absent value: null in JSON, an empty field in CSV. CSV
/// contains only the middle of an interval, and joins sentences into one field.
using Cell = std::variant<std::monostate, bool, std::int64_t, double, Decimal, std::string,
                          MsInterval, std::vector<std::string>>;

/// The position of a column in CSV: in JSON's order, before all other columns, or after them.
enum class CsvPlace : std::uint8_t { kInOrder, kFirst, kLast };

template <typename Row>
struct ReportColumn {
  std::string_view key;  ///< Name of the column, which ends in its unit (docs/report.md).
  Cell (*value)(const Row&);
  CsvPlace csv = CsvPlace::kInOrder;
  bool in_json = true;
};

template <typename Row>
using ReportColumns = std::span<const ReportColumn<Row>>;

/// A finding, with the options from which its commands are made.
struct FindingToShow {
  RowOfFile<Finding> finding;
  const ReportOptions* options;
};

/// A holder of memory, with its device and file.
struct HolderOfDevice {
  const MemoryHolder* holder;
  const MemoryUse* use;
  const TraceReport* file;
};

/// A row of a table of the ranks: its index in `job.ranks` or `job.waits.classes`.
struct RowOfRanks {
  const JobRanks* job;
  std::size_t index;
};

/// Kernels, operators or layers: their tables have different columns.
enum class TimeTable : std::uint8_t { kKernels, kOperators, kLayers };

/// Returns the word in the ids of rows: "kernel", "operator", "layer".
std::string_view KindOf(TimeTable table);

namespace columns {

ReportColumns<RowOfFile<TimeRow>> Times(TimeTable table);
ReportColumns<RowOfFile<StepRow>> Steps();
ReportColumns<RowOfFile<GpuTimeRow>> GpuTime();
ReportColumns<RowOfFile<IdleRow>> Idle();
ReportColumns<RowOfFile<LineRow>> Lines();
ReportColumns<RowOfFile<StackRow>> Stacks();
ReportColumns<RowOfFile<ClassRow>> Classes();
ReportColumns<RowOfFile<SyncRow>> Syncs();
ReportColumns<FindingToShow> Findings();
ReportColumns<RowOfFile<RegionRow>> Regions();
ReportColumns<RowOfFile<TimingRow>> Timings();
ReportColumns<RowOfFile<CallbackRow>> Callbacks();
ReportColumns<RowOfFile<MetricRow>> Metrics();
ReportColumns<HolderOfDevice> Holders();
ReportColumns<RowOfRanks> Waits();
ReportColumns<RowOfRanks> Clocks();
ReportColumns<RowOfRanks> Collectives();

}  // namespace columns

void WriteJson(const Cell& cell, JsonWriter& json);
/// Returns `cell` as a CSV field (RFC 4180).
std::string CsvText(const Cell& cell);

/// Writes the row's columns into an open object.
template <typename Row>
void WriteColumns(ReportColumns<Row> columns, const Row& row, JsonWriter& json) {
  for (const ReportColumn<Row>& column : columns) {
    if (!column.in_json) continue;
    json.Key(column.key);
    WriteJson(column.value(row), json);
  }
}

template <typename Row>
void WriteRow(ReportColumns<Row> columns, const Row& row, JsonWriter& json) {
  json.BeginObject();
  WriteColumns(columns, row, json);
  json.EndObject();
}

/// Writes a CSV file with a header line.
template <typename Row>
class CsvWriter {
 public:
  explicit CsvWriter(ReportColumns<Row> columns) {
    for (const CsvPlace place : {CsvPlace::kFirst, CsvPlace::kInOrder, CsvPlace::kLast}) {
      for (const ReportColumn<Row>& column : columns) {
        if (column.csv == place) columns_.push_back(&column);
      }
    }
    AddLine([](const ReportColumn<Row>& column) { return std::string(column.key); });
  }

  void Add(const Row& row) {
    AddLine([&](const ReportColumn<Row>& column) { return CsvText(column.value(row)); });
  }

  std::string Take() && { return std::move(text_); }

 private:
  template <typename Field>
  void AddLine(Field field) {
    for (const ReportColumn<Row>* column : columns_) {
      if (column != columns_.front()) text_.push_back(',');
      text_ += field(*column);
    }
    text_ += "\r\n";
  }

  std::vector<const ReportColumn<Row>*> columns_;
  std::string text_;
};

}  // namespace headroom
