#include "answers/report/columns.h"

#include <gtest/gtest.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "answers/report/report_fixture.h"
#include "answers/test_text.h"
#include "ranks/test_ranks.h"
#include "render/escape.h"

namespace headroom {
namespace columns_report_test {

using Json = nlohmann::ordered_json;

const JobRanks& TwoRanks() {
  static const JobRanks job = [] {
    RankBuilder b(2);
    b.Step(0, 0, 1000).AllReduce({100, 200}, 300).AllReduce({400, 500}, 600);
    b.AllReduce({700, 800}, 900);
    return AnalyzeJobRanks(b.ranks());
  }();
  return job;
}

template <typename Row>
std::vector<RowOfFile<Row>> Of(const std::vector<Row>& rows, const TraceReport& file) {
  std::vector<RowOfFile<Row>> found;
  found.reserve(rows.size());
  for (const Row& row : rows) found.push_back({&row, &file});
  return found;
}

/// Calls `visit(name, columns, rows)` for every table of the report.
template <typename Visit>
void ForEachTable(const TraceReport& file, const ReportOptions& options, Visit visit) {
  visit("kernels", columns::Times(TimeTable::kKernels), Of(file.kernels, file));
  visit("operators", columns::Times(TimeTable::kOperators), Of(file.operators, file));
  visit("layers", columns::Times(TimeTable::kLayers), Of(file.layers, file));
  visit("steps", columns::Steps(), Of(file.steps.list, file));
  visit("gpu_time", columns::GpuTime(), Of(file.gpu_time, file));
  visit("idle", columns::Idle(), Of(file.idle, file));
  visit("lines", columns::Lines(), Of(file.lines, file));
  visit("stacks", columns::Stacks(), Of(file.stacks, file));
  visit("classes", columns::Classes(), Of(file.classes, file));
  visit("syncs", columns::Syncs(), Of(file.syncs, file));
  visit("regions", columns::Regions(), Of(file.regions, file));
  visit("timings", columns::Timings(), Of(file.timings, file));
  visit("callbacks", columns::Callbacks(), Of(file.callbacks, file));
  visit("metrics", columns::Metrics(), Of(file.metrics, file));
  std::vector<FindingToShow> findings;
  for (const Finding& finding : file.findings) findings.push_back({{&finding, &file}, &options});
  visit("findings", columns::Findings(), findings);
  std::vector<HolderOfDevice> holders;
  for (const MemoryUse& use : file.memory) {
    for (const MemoryHolder& holder : use.holders) holders.push_back({&holder, &use, &file});
  }
  visit("holders", columns::Holders(), holders);
  const JobRanks& job = TwoRanks();
  std::vector<RowOfRanks> ranks, classes;
  for (std::size_t i = 0; i < job.ranks.size(); ++i) ranks.push_back({&job, i});
  for (std::size_t i = 0; i < job.waits.classes.size(); ++i) classes.push_back({&job, i});
  visit("waits", columns::Waits(), ranks);
  visit("clocks", columns::Clocks(), ranks);
  visit("collectives", columns::Collectives(), classes);
}

std::string JsonText(const Cell& cell) {
  JsonWriter json;
  WriteJson(cell, json);
  return std::move(json).Take();
}

/// Returns the cell of `key` in a row.
template <typename Row>
Cell CellOf(ReportColumns<Row> columns, const Row& row, std::string_view key) {
  for (const ReportColumn<Row>& column : columns) {
    if (column.key == key) return column.value(row);
  }
  ADD_FAILURE() << "no column " << key;
  return {};
}

/// Expects CSV and JSON to state the same value.
void ExpectOneValue(const Cell& cell, const std::string& where) {
  const std::string csv = CsvText(cell);
  const Json json = Json::parse(JsonText(cell));
  if (json.is_null()) {
    EXPECT_EQ(csv, "") << where;
  } else if (json.is_boolean()) {
    EXPECT_EQ(csv, json.get<bool>() ? "true" : "false") << where;
  } else if (json.is_string()) {
    EXPECT_EQ(csv, CsvField(json.get<std::string>())) << where;
  } else if (json.is_array()) {
    for (const Json& sentence : json)
      EXPECT_NE(csv.find(sentence.get<std::string>()), std::string::npos) << where;
  } else {
    const Json& number = json.is_object() ? json["mid"] : json;
    ASSERT_TRUE(number.is_number()) << where;
    double value = 0;
    const auto [end, error] = std::from_chars(csv.data(), csv.data() + csv.size(), value);
    EXPECT_EQ(end, csv.data() + csv.size()) << where << ": " << csv;
    EXPECT_EQ(value, number.get<double>()) << where;
  }
}

TEST(Columns, KeysOfATableAreUniqueAndInSnakeCase) {
  ForEachTable(DemoReport(), {}, [](std::string_view table, auto columns, const auto&) {
    std::set<std::string_view> keys;
    for (const auto& column : columns) {
      EXPECT_TRUE(keys.insert(column.key).second) << table << "." << column.key;
      EXPECT_EQ(column.key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"),
                std::string_view::npos)
          << table << "." << column.key;
      EXPECT_NE(column.value, nullptr) << table << "." << column.key;
    }
    EXPECT_FALSE(keys.empty()) << table;
  });
}

TEST(Columns, JsonAndCsvStateTheSameValues) {
  const TraceReport demo = DemoReport();
  ForEachTable(demo, {}, [](const std::string& table, auto columns, const auto& rows) {
    EXPECT_FALSE(rows.empty()) << table << ": the fixture has no row of it";
    for (const auto& row : rows) {
      for (const auto& column : columns)
        ExpectOneValue(column.value(row), table + "." + std::string(column.key));
    }
  });
}

TEST(Columns, NamesOfATraceStayOneFieldAndOneString) {
  for (const std::string& name : HostileNames()) {
    TraceReport demo = DemoReport();
    demo.kernels = {demo.kernels[0]};
    demo.kernels[0].name = name;
    const RowOfFile<TimeRow> row{&demo.kernels[0], &demo};
    const Cell cell = CellOf(columns::Times(TimeTable::kKernels), row, "name");
    EXPECT_EQ(Json::parse(JsonText(cell)).get<std::string>(), ValidUtf8(name));
    EXPECT_EQ(CsvText(cell), CsvField(name));
    ExpectOneValue(cell, "name");
  }
}

TEST(Columns, AbsentValuesAreNullAndEmpty) {
  TraceReport bare = BareReport();
  bare.steps.list.resize(1);
  bare.callbacks.resize(1);
  bare.metrics.resize(1);
  const RowOfFile<StepRow> step{&bare.steps.list[0], &bare};
  const RowOfFile<TimeRow> time{&bare.operators[0], &bare};
  const RowOfFile<CallbackRow> callback{&bare.callbacks[0], &bare};
  const RowOfFile<MetricRow> metric{&bare.metrics[0], &bare};
  const auto expect_absent = [](const Cell& cell, std::string_view key) {
    EXPECT_EQ(JsonText(cell), "null") << key;
    EXPECT_EQ(CsvText(cell), "") << key;
  };
  for (const char* key : {"rank", "gpu_busy_ms", "kind", "tokens"})
    expect_absent(CellOf(columns::Steps(), step, key), key);
  for (const char* key : {"total_us", "mean_us", "p50_us", "min_us", "max_us", "share_pct",
                          "forward_us", "flops", "bytes", "bound", "roofline_pct", "family"})
    expect_absent(CellOf(columns::Times(TimeTable::kOperators), time, key), key);
  for (const char* key : {"event", "in_steps_ms", "share_pct"})
    expect_absent(CellOf(columns::Callbacks(), callback, key), key);
  for (const char* key : {"unit", "host", "gpu", "instance"})
    expect_absent(CellOf(columns::Metrics(), metric, key), key);
}

TEST(Columns, AMeanNeedsCalls) {
  TraceReport demo = DemoReport();
  TimeRow& kernel = demo.kernels[0];
  const RowOfFile<TimeRow> row{&kernel, &demo};
  const auto mean = [&] {
    return CsvText(CellOf(columns::Times(TimeTable::kKernels), row, "mean_us"));
  };
  kernel.total = DurationNs(7'000);
  kernel.count = 2;
  EXPECT_EQ(mean(), "3.5");
  kernel.count = 0;
  EXPECT_EQ(mean(), "");
}

TEST(Columns, ARankWithoutAClockHasNoWaits) {
  JobRanks job = TwoRanks();
  job.alignment.clocks[1].aligned = false;
  const RowOfRanks aligned{&job, 0}, lost{&job, 1};
  for (const char* key : {"waited_ms", "caused_ms", "last_count", "culprit_steps"}) {
    EXPECT_NE(CsvText(CellOf(columns::Waits(), aligned, key)), "") << key;
    EXPECT_EQ(CsvText(CellOf(columns::Waits(), lost, key)), "") << key;
  }
  for (const char* key : {"reference_rank", "offset_ms", "drift_ppm", "uncertainty_us"})
    EXPECT_EQ(CsvText(CellOf(columns::Clocks(), lost, key)), "") << key;
  EXPECT_EQ(CsvText(CellOf(columns::Clocks(), lost, "aligned")), "false");
}

TEST(Cell, ExtremesKeepTheirDigits) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const struct {
    Cell cell;
    std::string_view json, csv;
  } kCases[] = {
      {{}, "null", ""},
      {true, "true", "true"},
      {std::int64_t{0}, "0", "0"},
      {std::numeric_limits<std::int64_t>::min(), "-9223372036854775808", "-9223372036854775808"},
      {std::int64_t{1'000'000'000'000'000'000}, "1000000000000000000", "1000000000000000000"},
      {-0.5, "-0.5", "-0.5"},
      {1e18, "1e+18", "1e+18"},
      {kInfinity, "null", ""},
      {-kInfinity, "null", ""},
      {std::numeric_limits<double>::quiet_NaN(), "null", ""},
      {Decimal{"-0.000001"}, "-0.000001", "-0.000001"},
      {MsInterval{-1, 0, 2.5}, R"({"low": -1, "mid": 0, "high": 2.5})", "0"},
      {std::string(), R"("")", ""},
      {std::string("a\"b"), R"("a\"b")", R"("a""b")"},
      {std::vector<std::string>{}, "[]", ""},
      {std::vector<std::string>{"one", "two words."}, R"(["one", "two words."])",
       "One. Two words."},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(JsonText(c.cell), c.json);
    EXPECT_EQ(CsvText(c.cell), c.csv) << c.json;
  }
}

TEST(CsvWriter, PutsColumnsInTheirPlaces) {
  using Row = int;
  static constexpr ReportColumn<Row> kColumns[] = {
      {"last", [](const Row& row) { return Cell(std::int64_t{row}); }, CsvPlace::kLast},
      {"between", [](const Row&) { return Cell(); }},
      {"first", [](const Row&) { return Cell(std::string("a,b")); }, CsvPlace::kFirst, false}};
  CsvWriter<Row> table(kColumns);
  table.Add(7);
  EXPECT_EQ(std::move(table).Take(), "first,between,last\r\n\"a,b\",,7\r\n");
  JsonWriter json;
  WriteRow<Row>(kColumns, 7, json);
  EXPECT_EQ(std::move(json).Take(), R"({"last": 7, "between": null})");
}

}  // namespace columns_report_test
}  // namespace headroom
