// Recordings without GPU work and without operators: regions and steps of one thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/test_trace.h"

namespace headroom {
namespace without_gpu_test {

struct Part {
  const char* key;
  std::int64_t length;
};

/// Builds five steps of 1000 us. Each starts with these regions in sequence.
StoreBuilder Loop(const std::vector<Part>& parts) {
  StoreBuilder b;
  for (int i = 0; i < 5; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    std::int64_t at = i * 1000;
    for (const Part& part : parts) {
      b.Region(part.key, kMain, at, part.length);
      at += part.length;
    }
  }
  return b;
}

TEST(LoopWithoutGpu, DefaultKeysSplitTheMedianStep) {
  const TraceReport report = AnalyzeTrace(Loop({{"IO", 90},
                                                {"to_device", 50},
                                                {"FORWARD", 200},
                                                {"BACKWARD", 300},
                                                {"COMM", 80},
                                                {"OPTIMIZER", 120},
                                                {"callbacks.Logger.on_batch_end", 60}}));
  EXPECT_EQ(report.steps.p50, Us(1000)) << "the annotation";
  ASSERT_TRUE(report.breakdown);
  const BreakdownParts& step = report.breakdown->step;
  EXPECT_EQ(step.data_wait, Us(90));
  EXPECT_EQ(step.host_to_device, Us(50));
  EXPECT_EQ(step.forward, Us(200));
  EXPECT_EQ(step.backward, Us(300));
  EXPECT_EQ(step.communication, Us(80));
  EXPECT_EQ(step.optimizer, Us(120));
  EXPECT_EQ(step.callback, Us(60));
  EXPECT_EQ(step.other, Us(100));
  EXPECT_EQ(report.breakdown->gpu.Sum(), Us(0));
  ASSERT_TRUE(report.loop);
  EXPECT_EQ(report.loop->data_wait, Us(90));
  EXPECT_EQ(report.loop->callback, Us(60));
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kUnknown) << "no wait holds 15 % clearly";
  EXPECT_TRUE(report.causes.empty());
}

// MAELSTROM's loop marks only IO and BATCH. The time between two waits is not a wait.
TEST(LoopWithoutGpu, ARegionSaysItselfHowFarItReaches) {
  const TraceReport report = AnalyzeTrace(Loop({{"IO", 100}}));
  ASSERT_TRUE(report.breakdown);
  EXPECT_EQ(report.breakdown->step.data_wait, Us(100));
  EXPECT_EQ(report.breakdown->step.other, Us(900));
}

struct VerdictCase {
  const char* shows;
  std::vector<Part> parts;
  Verdict verdict;
  const char* confidence;
  const char* finding;  ///< The first finding; empty if none.
};

const VerdictCase kCases[] = {
    {"the loader holds most",
     {{"IO", 400}, {"FORWARD", 500}},
     Verdict::kInput,
     "medium",
     "data-wait"},
    {"the loader holds a little",
     {{"IO", 200}, {"FORWARD", 500}},
     Verdict::kInput,
     "low",
     "data-wait"},
    {"a callback holds most",
     {{"FORWARD", 300}, {"callbacks.Saver.on_batch_end", 500}},
     Verdict::kCallback,
     "medium",
     "callbacks"},
    {"other ranks hold most",
     {{"FORWARD", 300}, {"COMM", 500}},
     Verdict::kCommunication,
     "medium",
     ""},
    {"two waits alike",
     {{"IO", 300}, {"callbacks.Saver.on_batch_end", 280}},
     Verdict::kUnknown,
     "",
     "data-wait"},
    {"work holds most", {{"FORWARD", 500}, {"BACKWARD", 400}}, Verdict::kUnknown, "", ""},
    {"a callback of 3 % is no finding",
     {{"FORWARD", 900}, {"callbacks.Saver.on_batch_end", 30}},
     Verdict::kUnknown,
     "",
     ""},
    {"nothing says what holds most",
     {{"FORWARD", 400}, {"mine", 50}},
     Verdict::kUnknown,
     "",
     "unmarked-time"},
    {"a region of the program holds most",
     {{"FORWARD", 400}, {"save_checkpoint", 400}},
     Verdict::kUnknown,
     "",
     "costly-region"},
    {"several regions hold most together",
     {{"FORWARD", 400}, {"wandb.log", 200}, {"save_plot", 150}},
     Verdict::kUnknown,
     "",
     "costly-region"},
    {"a region of the program holds a little",
     {{"FORWARD", 800}, {"log", 110}},
     Verdict::kUnknown,
     "",
     "costly-region"},
};

TEST(LoopWithoutGpu, Verdicts) {
  for (const VerdictCase& c : kCases) {
    SCOPED_TRACE(c.shows);
    const TraceReport report = AnalyzeTrace(Loop(c.parts));
    EXPECT_EQ(report.bottleneck.verdict, c.verdict);
    EXPECT_EQ(report.bottleneck.confidence, c.confidence);
    EXPECT_TRUE(report.bottleneck.host_only);
    const std::vector<std::string>& evidence = report.bottleneck.evidence;
    EXPECT_TRUE(std::any_of(evidence.begin(), evidence.end(), [](const std::string& sentence) {
      return sentence.starts_with("no GPU work was recorded");
    }));
    EXPECT_EQ(report.findings.empty() ? "" : report.findings.front().id, c.finding);
  }
}

TEST(LoopWithoutGpu, AFindingNamesTheRegionThatHoldsTheStepByItsOwnTime) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) {
    const int at = i * 1000;
    b.Step(i, kMain, at, 1000);
    b.Region("epoch_end", kMain, at, 900);
    b.Region("FORWARD", kMain, at + 10, 190);
    b.Region("save", kMain, at + 300, 200);
    b.Region("save", kMain, at + 600, 250);
    b.Region("elsewhere", kAutograd, at, 1000);
  }
  const TraceReport report = AnalyzeTrace(b);
  ASSERT_FALSE(report.findings.empty());
  const Finding& finding = report.findings.front();
  EXPECT_EQ(finding.title,
            "0.810 ms per step is neither loading nor training, mostly in region save");
  ASSERT_EQ(finding.evidence.size(), 1u);
  EXPECT_EQ(finding.evidence[0], "save: 450 us self time in step 0, in 2 regions");
  // Without the region, the step would lose its 450 us, not all 810 us.
  EXPECT_EQ(finding.remedy, Remedy::kOwnTime);
  EXPECT_NEAR(*finding.share_pct, 45, 1e-6);
}

TEST(Callbacks, AFindingNamesTheMostExpensiveAndItsEvent) {
  StoreBuilder b;
  for (int i = 0; i < 6; ++i) {
    const int at = i * 1000;
    b.Step(i, kMain, at, 1000);
    b.Launch("aten::mm", kMain, at + 5, kGemm, kStream, at + 10, 500);
    b.Region("callbacks.Saver.on_batch_end", kMain, at + 550, 300);
    b.Launch("aten::add", kMain, at + 900, kAdd, kStream, at + 990, 10);
  }
  const TraceReport report = AnalyzeTrace(b);
  const auto finding = std::find_if(report.findings.begin(), report.findings.end(),
                                    [](const Finding& f) { return f.id == "callbacks"; });
  ASSERT_NE(finding, report.findings.end());
  EXPECT_EQ(finding->remedy, Remedy::kCallbacks);
  EXPECT_EQ(finding->title, "the GPU idles 0.300 ms per step while the trainer's callbacks run");
  EXPECT_NE(finding->evidence.at(0).find("Saver on the event on_batch_end"), std::string::npos)
      << finding->evidence[0];
}

struct SelfCase {
  const char* shows;
  const char* args;
  char grade;  ///< Grade of a sound trace of 12 events.
  const char* says;
};

const SelfCase kSelfCases[] = {
    {"nothing was dropped",
     R"("dropped": 0, "clock": "tsc", "clock_residual_ns": 120, "zone_ns": 17.25, "recorder_cpu_ms": 3)",
     'A',
     "(clock tsc, error at most 120 ns, a region costs 17.2 ns, the recorder took 3.0 ms of CPU "
     "time)"},
    {"some was dropped", R"("dropped": 1)", 'E', "its own statistics"},
    {"threads and names are no events",
     R"("dropped": 3, "dropped_events": 1, "dropped_threads": 2)", 'E', "its own statistics"},
    {"some found no room in the file", R"("dropped": 0, "lost_bytes": 900)", 'E',
     "its own statistics"},
    {"words of others are not quoted", R"("clock": "secret", "dropped": "many", "zone_ns": -1)",
     'A', "its own statistics"},
};

TEST(Health, TheRecordingReportsOnItself) {
  for (const SelfCase& c : kSelfCases) {
    SCOPED_TRACE(c.shows);
    StoreBuilder b;
    b.NameDevice(0, "NVIDIA H200");
    b.Step(0, kMain, 0, 100);
    b.Launch("aten::mm", kMain, 5, kGemm, kStream, 10, 50);
    b.Instant("headroom", "self", 50, R"("dropped": 1000)");  // The last instant counts.
    b.Instant("headroom", "self", 60, c.args);
    const Health health = AnalyzeTrace(b).health;
    EXPECT_EQ(health.grade, c.grade);
    const auto issue =
        std::find_if(health.issues.begin(), health.issues.end(),
                     [](const HealthIssue& i) { return i.issue == ImportIssue::kRecorder; });
    ASSERT_NE(issue, health.issues.end());
    EXPECT_NE(issue->detail.find(c.says), std::string::npos) << issue->detail;
    EXPECT_EQ(issue->detail.find("secret"), std::string::npos);
    const bool dropped =
        std::any_of(health.issues.begin(), health.issues.end(),
                    [](const HealthIssue& i) { return i.issue == ImportIssue::kDroppedRecords; });
    EXPECT_EQ(dropped, c.grade != 'A');
  }
}

TEST(Health, WhatARecordingLacksHasItsCauses) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Instant("headroom", "self", 60,
            R"("dropped": 6, "dropped_events": 1, "dropped_threads": 2, "dropped_depth": 3,)"
            R"( "dropped_names": 4487, "lost_bytes": 50)");
  const Health health = AnalyzeTrace(b).health;
  std::map<ImportIssue, HealthIssue> issues;
  for (const HealthIssue& issue : health.issues) issues[issue.issue] = issue;
  EXPECT_EQ(issues[ImportIssue::kDroppedRecords].count, 6 + 2);
  const std::string& detail = issues[ImportIssue::kDroppedRecords].detail;
  EXPECT_NE(detail.find("(1 arrived faster than they could be recorded, 2 came from more than 128 "
                        "threads at a time, 3 were nested in 256 regions, 50 B did not fit into "
                        "the file)"),
            std::string::npos)
      << detail;
  EXPECT_EQ(issues[ImportIssue::kTooManyNames].count, 4487) << "they are recorded";
}

TEST(Health, ARecordingThatWasNotBroughtToItsEndIsTold) {
  const auto told = [](bool began, bool closed) {
    StoreBuilder b;
    b.Step(0, kMain, 0, 100);
    if (began) b.Instant("headroom", "recording", 0, "");
    if (closed) b.Instant("headroom", "closed", 100, "");
    const Health health = AnalyzeTrace(b).health;
    return std::any_of(health.issues.begin(), health.issues.end(),
                       [](const HealthIssue& i) { return i.issue == ImportIssue::kNotClosed; });
  };
  EXPECT_TRUE(told(true, false));
  EXPECT_FALSE(told(true, true));
  EXPECT_FALSE(told(false, false));  // Another tool made the recording.
}

TEST(Health, WhatTheRecordingOfGpuActivitySaysIsTold) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  b.Step(0, kMain, 0, 100);
  b.Launch("aten::mm", kMain, 5, kGemm, kStream, 10, 50);
  b.Instant("headroom", "cupti_started", 1, R"("value": 12, "severity": "info")");
  b.Instant("headroom", "cupti_failed", 20, R"("value": 999, "severity": "warning")");
  b.Instant("headroom", "cupti_kind_refused", 21,
            R"("value": 15, "text": "no memory sets", "severity": "warning")");
  b.Instant("headroom", "cupti_worker_cpu_ns", 30, R"("value": 1500000, "severity": "info")");
  b.Instant("headroom", "cupti_worker_cpu_ns", 40, R"("value": 500000, "severity": "info")");
  b.Instant("other", "cupti_failed", 41, R"("value": 1, "severity": "warning")");
  b.Instant("headroom", "self", 60, R"("dropped": 0)");
  const auto find = [](const Health& health, ImportIssue issue) {
    return std::find_if(health.issues.begin(), health.issues.end(),
                        [=](const HealthIssue& i) { return i.issue == issue; });
  };
  Health health = AnalyzeTrace(b).health;
  EXPECT_EQ(health.grade, 'B');
  const auto warning = find(health, ImportIssue::kRecorderWarning);
  ASSERT_NE(warning, health.issues.end());
  EXPECT_EQ(warning->count, 2);
  EXPECT_NE(warning->detail.find("(cupti_failed: 999)"), std::string::npos) << warning->detail;
  const auto recorder = find(health, ImportIssue::kRecorder);
  ASSERT_NE(recorder, health.issues.end());
  EXPECT_NE(recorder->detail.find("recording GPU activity took 2.0 ms of CPU time in the program"),
            std::string::npos)
      << recorder->detail;
  EXPECT_EQ(find(health, ImportIssue::kDroppedRecords), health.issues.end());

  // Records that CUPTI dropped count as missing, like those of a full ring, even if the recorder
  // was killed.
  b.Instant("headroom", "cupti_dropped_records", 50, R"("value": 7, "severity": "warning")");
  b.Instant("headroom", "cupti_untimed_records", 51, R"("value": 2, "severity": "warning")");
  health = AnalyzeTrace(b).health;
  const auto dropped = find(health, ImportIssue::kDroppedRecords);
  ASSERT_NE(dropped, health.issues.end());
  EXPECT_EQ(dropped->count, 9);
}

}  // namespace without_gpu_test
}  // namespace headroom
