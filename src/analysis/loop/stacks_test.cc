#include "analysis/loop/stacks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analysis/test_trace.h"
#include "store/store_builder.h"

namespace headroom {
namespace {

TEST(OwnFrame, IsTheInnermostOutsideOfLibraries) {
  EXPECT_EQ(OwnFrame("train.py(9): <module>;data.py(4): augment;site-packages/cv2/x.py(1): f"),
            "data.py(4): augment");
  EXPECT_EQ(OwnFrame("python3.11/runpy.py(1): run;site-packages/torchrun.py(2): main"),
            "site-packages/torchrun.py(2): main");
  EXPECT_EQ(OwnFrame("train.py(9): <module>;<string>(3): __init__"), "train.py(9): <module>");
  EXPECT_EQ(OwnFrame(""), "");
}

/// Six steps of 1 ms: 300 us forward, then time that no region marks.
StoreBuilder Loop() {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    b.Region("FORWARD", kMain, i * 1000, 300);
  }
  return b;
}

TEST(StackTable, TellsThePartOfTheStepAndTheTimeOfTheSamples) {
  StoreBuilder b = Loop();
  // One sample every 600 us: at 0, 600, ... 6000, the last after the steps.
  for (int i = 0; i <= 10; ++i) {
    const bool forward = (i * 600) % 1000 < 300;
    b.Stack(forward ? "t.py(1): m;site-packages/torch/a.py(7): f" : "t.py(1): m;t.py(5): aug",
            kMain, i * 600);
  }
  const TraceReport report = AnalyzeTrace(b);
  std::vector<std::string> found;
  DurationNs sum;
  double shares = 0;
  for (const StackRow& row : report.stacks) {
    found.push_back(row.part + " " + std::to_string(row.samples) + " " + row.stack);
    sum += row.total;
    shares += row.share_pct;
  }
  EXPECT_EQ(found,
            (std::vector<std::string>{"other 6 t.py(1): m;t.py(5): aug",
                                      "forward 4 t.py(1): m;site-packages/torch/a.py: f",
                                      "outside steps 1 t.py(1): m;site-packages/torch/a.py: f"}));
  EXPECT_EQ(sum, DurationNs(11 * 600'000));
  EXPECT_NEAR(shares, 100, 1e-9);
  const std::vector<StackRow> lines = ByOwnLine(report.stacks);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].stack, "t.py(5): aug");
  EXPECT_EQ(lines[1].stack, "t.py(1): m");
}

TEST(StackTable, ASampleOfALongCallCountsOncePerRequest) {
  StoreBuilder b = Loop();
  b.Stack("t.py(5): wait", kMain, 400, 4);
  b.Stack("t.py(6): go", kMain, 2400);
  const std::vector<StackRow> rows = AnalyzeTrace(b).stacks;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].samples, 4);
  EXPECT_EQ(rows[0].total, DurationNs(4 * 500'000));
}

TEST(CostlyLine, IsNamedFromTwentySamplesOn) {
  for (const int samples : {19, 20}) {
    StoreBuilder b;
    for (int i = 0; i < samples; ++i) {
      b.Step(i, kMain, i * 1000, 1000);
      b.Region("FORWARD", kMain, i * 1000, 300);
      b.Stack(i % 3 == 0 ? "t.py(8): log" : "t.py(5): aug", kMain, i * 1000 + 500);
    }
    const TraceReport report = AnalyzeTrace(b);
    ASSERT_FALSE(report.findings.empty());
    const Finding& finding = report.findings.front();
    if (samples < 20) {
      EXPECT_EQ(finding.id, "unmarked-time");
      continue;
    }
    EXPECT_EQ(finding.id, "costly-line");
    EXPECT_EQ(finding.title,
              "0.700 ms per step is neither loading nor training, mostly in t.py(5): aug");
    EXPECT_EQ(finding.place, "t.py(5): aug");
    ASSERT_EQ(finding.evidence.size(), 1u);
    EXPECT_EQ(finding.evidence[0], "t.py(5): aug: 13 of 20 samples of the stack in that time");
    // Without the line, 13/20 of the 700 us would go.
    EXPECT_NEAR(*finding.share_pct, 45.5, 1e-6);
  }
}

}  // namespace
}  // namespace headroom
