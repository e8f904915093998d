#include "answers/report/memory_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/report/report_fixture.h"

namespace headroom {
namespace memory_json_report_test {

using Json = nlohmann::ordered_json;

Json Memory(const std::vector<TraceReport>& files, const ReportOptions& options = {}) {
  JsonWriter json;
  json.BeginObject();
  WriteMemory(json, JobReport(files), options);
  json.EndObject();
  return Json::parse(std::move(json).Take())["memory"];
}

TEST(WriteMemory, OfTheDemo) {
  TraceReport demo = DemoReport();
  demo.trace_start = TimeNs(1'000'000);
  const Json device = Memory({demo})["devices"][0];
  EXPECT_TRUE(device["rank"].is_null());
  EXPECT_EQ(device["device"], 0);
  EXPECT_TRUE(device["process"].is_null()) << "all memory is of one process";
  EXPECT_EQ(device["peak_bytes"], 3'000'000'000);
  EXPECT_EQ(device["peak_ms"], 1) << "since the trace began";
  EXPECT_EQ(device["growth_bytes_per_step"], 64'000);
  EXPECT_EQ(device["parts"][0],
            (Json{{"kind", "activation"}, {"bytes", 2'000'000'000}, {"allocations", 2}}));
  EXPECT_EQ(device["holders"][0]["operator"], "aten::mm");
  EXPECT_FALSE(device["holders"][0].contains("device")) << "the entry that holds the list has it";
  EXPECT_EQ(device["steps"][0]["start_ms"], 0);
}

TEST(WriteMemory, TheCurveIsColumnsOfOneLength) {
  TraceReport demo = DemoReport();
  MemoryUse& use = demo.memory[0];
  use.curve.push_back(use.curve[0]);
  use.curve[1].reserved_bytes.reset();
  const Json curve = Memory({demo})["devices"][0]["curve"];
  for (const char* key : {"ms", "allocated_bytes", "reserved_bytes"})
    EXPECT_EQ(curve[key].size(), 2u) << key;
  EXPECT_TRUE(curve["reserved_bytes"][1].is_null());
  ASSERT_EQ(curve["parts"].size(), 2u) << "kinds of which nothing is held are left out";
  EXPECT_EQ(curve["parts"][0]["kind"], "before_recording");
  EXPECT_EQ(curve["parts"][1]["bytes"], Json::array({2'000'000'000, 2'000'000'000}));
}

TEST(WriteMemory, WithoutRecordsIsNull) {
  EXPECT_TRUE(Memory({BareReport()}).is_null());
  EXPECT_EQ(Memory({BareReport(), DemoReport()})["devices"].size(), 1u);
}

TEST(WriteMemory, OfWhatIsUnknownIsNull) {
  TraceReport report = BareReport();
  report.memory = {MemoryUse{}};
  const Json device = Memory({report})["devices"][0];
  for (const char* key : {"device", "process", "peak_step", "reserved_at_peak_bytes",
                          "most_reserved_bytes", "growth_bytes_per_step"})
    EXPECT_TRUE(device[key].is_null()) << key;
  for (const char* key : {"parts", "holders", "steps"}) EXPECT_TRUE(device[key].empty()) << key;
  EXPECT_TRUE(device["curve"]["ms"].empty());
}

TEST(WriteMemory, TopLimitsTheHoldersOfEachDevice) {
  TraceReport demo = DemoReport();
  MemoryUse& use = demo.memory[0];
  use.holders.resize(9, use.holders[0]);
  use.process = "4711\x1b\"\xff";
  demo.input.rank = 3;
  demo.memory.push_back(use);
  ReportOptions options;
  options.top = 4;
  const Json devices = Memory({demo}, options)["devices"];
  for (const Json& device : devices) EXPECT_EQ(device["holders"].size(), 4u);
  EXPECT_EQ(devices[1]["rank"], 3);
  EXPECT_EQ(devices[1]["process"], "4711\x1b\"\ufffd");
}

}  // namespace memory_json_report_test
}  // namespace headroom
