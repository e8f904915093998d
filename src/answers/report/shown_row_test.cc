#include "answers/report/shown_row.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/report/json.h"
#include "answers/report/report_fixture.h"
#include "answers/test_text.h"
#include "render/escape.h"
#include "render/row_id.h"

namespace headroom {
namespace shown_row_report_test {

std::string Show(const std::vector<TraceReport>& files, const std::string& id,
                 bool markdown = false, const CallsByPath& calls = {}) {
  const JobReport job(files);
  const std::optional<ShownRow> row = FindRow(job, id);
  if (!row) return "";
  return RenderShownRow(*row, id, calls, markdown, {});
}

RowCalls TwoCalls() {
  return {.of_gpu = true,
          .count = 219,
          .min = DurationNs(1'000),
          .p50 = DurationNs(2'000),
          .p90 = DurationNs(3'000),
          .p99 = DurationNs(4'000),
          .max = DurationNs(5'000),
          .slowest = {{.id = 17,
                       .start = TimeNs(6'000'000),
                       .time = DurationNs(5'000),
                       .host = DurationNs(9'000),
                       .step_index = 2},
                      {.id = 4,
                       .start = TimeNs(5'000'000),
                       .time = DurationNs(4'000),
                       .host = std::nullopt,
                       .step_index = std::nullopt}}};
}

TEST(FindRow, TakesTheIdOfEachKind) {
  const std::vector<TraceReport> files = {DemoReport()};
  const JobReport job(files);
  const struct {
    std::string id;
    std::string_view kind;
  } kCases[] = {{RowId("kernel", files[0].kernels[0].name), "kernel"},
                {RowId("operator", "aten::mm"), "operator"},
                {RowId("layer", "transformer.h.0.attn"), "layer"},
                {"step-3", "step"},
                {"no-tensor-cores", "finding"}};
  for (const auto& c : kCases) {
    const std::optional<ShownRow> row = FindRow(job, c.id);
    ASSERT_TRUE(row) << c.id;
    EXPECT_EQ(row->kind, c.kind);
    EXPECT_EQ(row->times.size() + row->steps.size() + row->findings.size(), 1u) << c.id;
  }
  for (const char* id : {"", "k", "k-", "k-0000000000", "step-", "step-99", "step-02", "aten::mm"})
    EXPECT_FALSE(FindRow(job, id)) << id;
}

TEST(FindNamedRow, TakesKernelsOperatorsAndLayersAlone) {
  const TraceReport demo = DemoReport();
  const std::optional<NamedRow> row = FindNamedRow(demo, RowId("operator", "aten::mm"));
  ASSERT_TRUE(row);
  EXPECT_EQ(row->table, CallTable::kOperators);
  EXPECT_EQ(row->name, "aten::mm");
  for (const char* id : {"", "o", "step-2", "no-tensor-cores", "o-0000000000"})
    EXPECT_FALSE(FindNamedRow(demo, id)) << id;
}

TEST(RenderShownRow, OfAnOperatorSaysAllThatIsKnown) {
  const std::string id = RowId("operator", "aten::addmm");
  EXPECT_EQ(Show({DemoReport()}, id),
            "One operator\n"
            "  id                  " +
                id +
                "\n"
                "  name                aten::addmm\n"
                "  GPU time            25.1 ms, 28.5 % of all GPU tasks\n"
                "  per call            mean 115 us, median 115 us, 57.3 us to 229 us\n"
                "  calls               219\n"
                "  host time           9.00 ms\n"
                "  host, self          4.10 ms\n"
                "  forward             8.37 ms\n"
                "  backward            16.7 ms\n"
                "  FLOPs               1.1e+12\n"
                "  bytes               2.2e+09\n"
                "  bound by            compute\n"
                "  roofline            63.4 % of its limit\n"
                "  class               matmul\n");
}

TEST(RenderShownRow, WithoutGpuWorkSaysNothingOfTheGpu) {
  const std::string id = RowId("operator", "aten::mm");
  EXPECT_EQ(Show({BareReport()}, id),
            "One operator\n"
            "  id                  " +
                id +
                "\n"
                "  name                aten::mm\n"
                "  calls               2\n"
                "  host time           1.50 us\n"
                "  host, self          <0.01 us\n");
}

TEST(RenderShownRow, OfAStepIsOnTheClockOfTheTrace) {
  TraceReport demo = DemoReport();
  demo.steps.list[0].lost_tasks = true;
  const std::string text = Show({demo}, "step-2", /*markdown=*/true);
  EXPECT_EQ(text.rfind("| step | |\n|---|---|\n| id | step-2 |\n", 0), 0u) << text;
  EXPECT_NE(text.find("| begins | 1.00 ms into the trace |\n"), std::string::npos) << text;
  EXPECT_NE(text.find("| whole | no: "), std::string::npos) << text;
}

TEST(RenderShownRow, OfAFindingHasItsCommands) {
  const std::string text = Show({DemoReport()}, "launch-bound-optimizer");
  EXPECT_NE(text.find("  check               headroom report traces/gpt2_bs-1.json.gz --only "
                      "breakdown\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("  forecast            headroom whatif "), std::string::npos) << text;
  EXPECT_EQ(Show({DemoReport()}, "no-tensor-cores").find("  forecast "), std::string::npos);
}

TEST(RenderShownRow, OfSeveralRanksNamesEach) {
  std::vector<TraceReport> files = {DemoReport(), DemoReport()};
  files[0].input.rank = 0;
  files[1].input.rank = 12;
  const std::string text = Show(files, "step-2");
  EXPECT_LT(text.find("  of                  rank 0\n"),
            text.find("  of                  rank 12\n"))
      << text;
}

TEST(RenderShownRow, ListsTheSlowestCallsAndTheQueryForThem) {
  const std::string id = RowId("operator", "aten::addmm");
  const CallsByPath calls = {{"traces/gpt2_bs-1.json.gz", TwoCalls()}};
  const std::string text = Show({DemoReport()}, id, false, calls);
  for (const char* line :
       {"  calls, GPU time     min 1.00 us, p50 2.00 us, p90 3.00 us, p99 4.00 us, max 5.00 us\n",
        "  slow call           5.00 us (9.00 us on the host), step 2, 1.00 ms into the trace, id "
        "17 "
        "of host_events\n",
        "  slow call           4.00 us, in no step, 0 ms into the trace, id 4 of host_events\n",
        "  look them up        headroom query traces/gpt2_bs-1.json.gz 'SELECT id, start_ns, "
        "duration_ns, thread_id, parent_id, args FROM host_events WHERE id IN (17, 4)'\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  const CallsByPath of_another = {{"another.json", TwoCalls()}};
  EXPECT_EQ(Show({DemoReport()}, id, false, of_another).find("slow call"), std::string::npos);
}

TEST(RenderShownRow, NothingInANameActs) {
  for (const std::string& name : HostileNames()) {
    TraceReport demo = DemoReport();
    demo.kernels = {demo.kernels[0]};
    demo.kernels[0].name = demo.kernels[0].kind = demo.kernels[0].bound = name;
    const std::string id = RowId("kernel", name);
    const std::string text = Show({demo}, id);
    EXPECT_NE(text.find("  name                " + Printable(name) + "\n"), std::string::npos);
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    EXPECT_NE(Show({demo}, id, true).find("| name | " + EscapeMarkdown(Printable(name)) + " |\n"),
              std::string::npos)
        << Show({demo}, id, true);
  }
}

TEST(RenderShownRowJson, HasTheRowAndItsCalls) {
  const std::vector<TraceReport> files = {DemoReport()};
  const JobReport job(files);
  const std::string id = RowId("operator", "aten::addmm");
  const CallsByPath calls = {{"traces/gpt2_bs-1.json.gz", TwoCalls()}};
  const auto json =
      nlohmann::ordered_json::parse(RenderShownRowJson(*FindRow(job, id), id, calls, false, {}));
  EXPECT_EQ(json["schema"], "headroom.row/1");
  EXPECT_EQ(json["kind"], "operator");
  const auto report = nlohmann::ordered_json::parse(RenderJson(files, {}));
  ASSERT_EQ(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0], report["operators"][0]);
  EXPECT_EQ(json["calls"][0]["slowest"][0]["start_ms"], 1);
  EXPECT_TRUE(json["calls"][0]["slowest"][1]["host_us"].is_null());
  EXPECT_TRUE(json["calls"][0]["slowest"][1]["step"].is_null());
}

}  // namespace shown_row_report_test
}  // namespace headroom
