#include "export/chrome_events.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "store/store_builder.h"

namespace headroom {
namespace chrome_events_test {

using Json = nlohmann::json;
constexpr std::int64_t kMain = 1, kStream = 7;

std::unique_ptr<TraceStore> SmallTrace() {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  b.Step(0, kMain, 0, 100);
  b.Launch("aten::mm", kMain, 10, "gemm", kStream, 20, 30);
  return b.Build();
}

std::vector<Json> EventsOf(const TraceStore& store, const EventPlacing& placing,
                           UsedNumbers* used = nullptr) {
  std::vector<Json> events;
  const UsedNumbers numbers = WriteChromeEvents(
      store, placing, [&](std::string_view event) { events.push_back(Json::parse(event)); });
  if (used != nullptr) *used = numbers;
  return events;
}

const Json& Only(const std::vector<Json>& events, const std::string& category) {
  const Json* found = nullptr;
  for (const Json& event : events) {
    if (event.value("cat", "") == category) found = &event;
  }
  EXPECT_NE(found, nullptr) << category;
  return *found;
}

TEST(ChromeEvents, HoldWhatTheRowsHold) {
  const std::unique_ptr<TraceStore> store = SmallTrace();
  UsedNumbers used;
  const std::vector<Json> events = EventsOf(*store, {}, &used);
  EXPECT_EQ(used.events, static_cast<std::int64_t>(events.size()));
  const Json& kernel = Only(events, "kernel");
  EXPECT_EQ(kernel["name"], "gemm");
  EXPECT_EQ(kernel["ts"], 20);
  EXPECT_EQ(kernel["dur"], 30);
  EXPECT_EQ(kernel["tid"], kStream);
  EXPECT_EQ(kernel["args"]["stream"], kStream);
  EXPECT_EQ(Only(events, "cuda_runtime")["args"]["correlation"], kernel["args"]["correlation"]);
  const std::vector<std::string> devices = DevicePropertiesOf(*store, {});
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(Json::parse(devices[0]), (Json{{"id", 0}, {"name", "NVIDIA H200"}}));
}

TEST(ChromeEvents, OfTwoTracesShareNothingThatJoins) {
  const std::unique_ptr<TraceStore> store = SmallTrace();
  UsedNumbers used;
  const std::vector<Json> first = EventsOf(*store, {.label = "rank 0"}, &used);
  const std::vector<Json> second =
      EventsOf(*store, {.time = [](TimeNs own) { return own + DurationNs(1'500); },
                        .label = "rank 1",
                        .first_process = used.processes,
                        .first_device = used.devices,
                        .first_id = used.ids});
  EXPECT_EQ(Only(second, "kernel")["ts"], 21.5);
  EXPECT_EQ(Only(second, "kernel")["args"]["device"], 1);
  EXPECT_NE(Only(first, "kernel")["args"]["correlation"],
            Only(second, "kernel")["args"]["correlation"]);
  for (const Json& a : first) {
    for (const Json& b : second) EXPECT_NE(a["pid"], b["pid"]);
  }
  std::vector<std::string> names;
  for (const Json& event : second) {
    if (event["name"] == "process_name") names.push_back(event["args"]["name"]);
  }
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) EXPECT_TRUE(name.starts_with("rank 1: ")) << name;
}

TEST(ChromeEvents, NamesAreEscaped) {
  StoreBuilder b;
  b.Op("a\"b\\c\n\xff", kMain, 0, 10);
  const std::vector<Json> events = EventsOf(*b.Build(), {});
  EXPECT_EQ(Only(events, "cpu_op")["name"], "a\"b\\c\n\xEF\xBF\xBD");
}

}  // namespace chrome_events_test
}  // namespace headroom
