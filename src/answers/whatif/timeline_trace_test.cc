#include "answers/whatif/timeline_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/test_text.h"
#include "render/escape.h"
#include "whatif/test_job.h"

namespace headroom {
namespace timeline_trace_test {

using Json = nlohmann::ordered_json;

/// Returns the first event of a category, or null.
Json EventOf(const Json& trace, std::string_view category) {
  for (const Json& event : trace["traceEvents"]) {
    if (event.value("cat", "") == category) return event;
  }
  return {};
}

class RenderTimelineTest : public testing::Test {
 protected:
  RenderTimelineTest() {
    builder_.Step().Forward("aten::add", "[[8, 4], [8, 4]]", 5, 1);
    job_ = &builder_.Build();
  }

  /// A timeline with the recorded call and task, and with those that a scenario inserts.
  Timeline Made() const {
    Timeline timeline;
    timeline.steps = {{.index = 7, .start_ns = 0, .duration_ns = 1'500, .thread = {}}};
    const auto& tasks = job_->graph().tasks;
    for (TaskIndex task = 0; task < tasks.size(); ++task) {
      TimelineSpan span{.name = "recorded", .origin = task, .start_ns = 1, .duration_ns = 1'234};
      span.correlation = 1;
      if (tasks[task].kind == TaskKind::kGpu) {
        span.stream = job_->store().gpu_tasks.stream[tasks[task].row];
        span.mark = SpanMark::kChanged;
        timeline.gpu_tasks.push_back(span);
      } else {
        timeline.calls.push_back(span);
      }
    }
    return timeline;
  }

  Json Render(const Timeline& timeline, const std::string& scenario = "") const {
    return Json::parse(RenderTimeline(*job_, timeline, scenario));
  }

  JobBuilder builder_;
  const Job* job_ = nullptr;
};

TEST_F(RenderTimelineTest, StepsCallsAndTasksAreEventsInMicroseconds) {
  const Json trace = Render(Made(), "amp");
  EXPECT_EQ(trace["headroom_scenario"], "amp");
  EXPECT_EQ(trace["deviceProperties"][0]["name"], "NVIDIA H200");
  const Json step = EventOf(trace, "user_annotation");
  EXPECT_EQ(step["name"], "ProfilerStep#7");
  EXPECT_EQ(step["dur"], 1.5);
  const Json call = EventOf(trace, "cuda_runtime");
  EXPECT_EQ(call["ts"], 0.001);
  EXPECT_EQ(call["args"]["correlation"], 1);
  EXPECT_EQ(call["args"]["operator"], "aten::add");
  EXPECT_FALSE(call["args"].contains("headroom")) << "the scenario left it as it is";
  const Json kernel = EventOf(trace, "kernel");
  EXPECT_EQ(kernel["dur"], 1.234);
  EXPECT_EQ(kernel["args"]["headroom"], "changed");
  EXPECT_EQ(kernel["args"]["operator"], "aten::add");
}

TEST_F(RenderTimelineTest, WhatIsInsertedHasNoOperator) {
  Timeline timeline = Made();
  TimelineSpan& task = timeline.gpu_tasks.front();
  task.origin = kNoTask;
  task.mark = SpanMark::kInserted;
  task.correlation = 0;
  const Json kernel = EventOf(Render(timeline), "kernel");
  EXPECT_EQ(kernel["args"]["headroom"], "inserted");
  EXPECT_FALSE(kernel["args"].contains("operator"));
  EXPECT_FALSE(kernel["args"].contains("correlation"));
}

TEST_F(RenderTimelineTest, TransfersHaveTracksOfTheirOwn) {
  Timeline timeline;
  timeline.channels = {"NVLink \"0\""};
  timeline.transfers = {{.name = "all-reduce", .start_ns = 10, .duration_ns = 20}};
  timeline.transfers[0].channel = 0;
  const Json trace = Render(timeline);
  const Json transfer = EventOf(trace, "headroom_transfer");
  EXPECT_EQ(transfer["pid"], "headroom transfers");
  EXPECT_EQ(transfer["tid"], 0);
  EXPECT_EQ(trace["traceEvents"][1]["args"]["name"], "NVLink \"0\"");
}

TEST_F(RenderTimelineTest, AnEmptyTimelineIsATrace) {
  EXPECT_TRUE(Render({})["traceEvents"].empty());
}

TEST_F(RenderTimelineTest, ExtremesKeepTheirDigits) {
  Timeline timeline;
  timeline.steps = {
      {.index = -1, .start_ns = -1, .duration_ns = 1'000'000'000'000'000'000, .thread = {}}};
  const std::string text = RenderTimeline(*job_, timeline, "");
  EXPECT_NE(text.find(R"("name":"ProfilerStep#-1","pid":0,"tid":0,"ts":-0.001,"dur":)"
                      "1000000000000000}"),
            std::string::npos)
      << text;
}

TEST_F(RenderTimelineTest, AnyNameIsAString) {
  for (const std::string& name : HostileNames()) {
    Timeline timeline = Made();
    timeline.channels = {name};
    timeline.gpu_tasks.front().name = name;
    const Json trace = Render(timeline, name);
    EXPECT_EQ(trace["headroom_scenario"], ValidUtf8(name));
    EXPECT_EQ(EventOf(trace, "kernel")["name"], ValidUtf8(name));
  }
}

}  // namespace timeline_trace_test
}  // namespace headroom
