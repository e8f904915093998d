#include "analysis/verdict/bottleneck.h"

#include <functional>
#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace bottleneck_test {

/// Builds five steps of 1000 us; `fill` adds the events of the step that begins at the given time.
/// The GPU's work ends 1000 us after that.
StoreBuilder Job(const std::function<void(StoreBuilder&, std::int64_t)>& fill) {
  StoreBuilder b;
  for (int i = 0; i < 5; ++i) {
    b.Step(i, kMain, i * 1000, 1000);
    fill(b, i * 1000);
    b.Launch("aten::add", kMain, i * 1000 + 900, kAdd, kStream, i * 1000 + 990, 10);
  }
  return b;
}

void Busy(StoreBuilder& b, std::int64_t at, const char* kernel, std::int64_t from,
          std::int64_t to) {
  b.Launch("aten::op", kMain, at + 5, kernel, kStream, at + from, to - from);
}

void HostBound(StoreBuilder& b, std::int64_t at) {
  for (int k = 0; k < 10; ++k)
    b.Launch("aten::mm", kMain, at + k * 90, kGemm, kStream, at + k * 90 + 5, 20);
}

void DataWait(StoreBuilder& b, std::int64_t at, std::int64_t from, std::int64_t length) {
  b.Annotation("enumerate(DataLoader)#iter", kMain, at + from, length);
}

void Callback(StoreBuilder& b, std::int64_t at, std::int64_t from, std::int64_t length) {
  b.Annotation("Callback.on_train_batch_end", kMain, at + from, length);
}

void Synchronizing(StoreBuilder& b, std::int64_t at) {
  Busy(b, at, kGemm, 10, 500);
  b.Call("cudaStreamSynchronize", kMain, at + 20,
         481);  // The GPU is idle from 500; the next launch is at 790.
  b.Launch("aten::mm", kMain, at + 790, kGemm, kStream, at + 800, 190);
}

struct VerdictCase {
  const char* name;
  Verdict verdict;
  double share_pct;  ///< -1 if there is no share.
  const char* confidence;
  std::function<void(StoreBuilder&, std::int64_t)> fill;
};

const VerdictCase kVerdictCases[] = {
    {"matrix products fill the step", Verdict::kGpuCompute, 98, "medium",
     [](StoreBuilder& b, std::int64_t at) { Busy(b, at, kGemm, 20, 990); }},
    {"element-wise kernels fill the step", Verdict::kGpuMemory, 98, "medium",
     [](StoreBuilder& b, std::int64_t at) { Busy(b, at, kAdd, 20, 990); }},
    // The last task of a step waits longer than a launch takes.
    {"launches come late", Verdict::kHost, 70, "high", HostBound},
    {"the loader is awaited", Verdict::kInput, 50, "high",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 10, 500);
       DataWait(b, at, 490, 500);
     }},
    {"copies of the batch are awaited", Verdict::kInput, 40, "high",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 10, 590);
       b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
       b.Copy(CopyKind::kHostToDevice, kStream, at + 590, 400, at + 1);
     }},
    {"communication is exposed", Verdict::kCommunication, 40, "high",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 10, 590);
       Busy(b, at, kAllReduce, 590, 990);
     }},
    {"communication is hidden", Verdict::kGpuCompute, 98, "medium",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 20, 990);
       b.Launch("nccl:all_reduce", kMain, at + 8, kAllReduce, kSideStream, at + 100, 800);
     }},
    {"a callback holds the loop", Verdict::kCallback, 30, "high",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 10, 690);
       Callback(b, at, 690, 300);
     }},
    {"the host waits, then launches late", Verdict::kSynchronization, 30, "high", Synchronizing},
    {"copies to the host are awaited", Verdict::kBalanced, -1, "medium",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 10, 590);
       b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
       b.Copy(CopyKind::kDeviceToHost, kStream, at + 590, 400, at + 1);
     }},
    {"products and the rest take alike", Verdict::kGpuCompute, 98, "low",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 20, 540);
       Busy(b, at, kAdd, 540, 990);
     }},
    {"several causes hold little", Verdict::kGpuCompute, 79, "low",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 10, 790);
       DataWait(b, at, 790, 100);
       Callback(b, at, 890, 98);
     }},
    {"two causes hold alike", Verdict::kBalanced, -1, "medium",
     [](StoreBuilder& b, std::int64_t at) {
       Busy(b, at, kGemm, 10, 590);
       DataWait(b, at, 590, 200);
       Callback(b, at, 790, 200);
     }},
};

TEST(Bottleneck, NamesWhatHoldsTheStep) {
  for (const VerdictCase& c : kVerdictCases) {
    const TraceReport report = AnalyzeTrace(Job(c.fill));
    EXPECT_EQ(report.bottleneck.verdict, c.verdict) << c.name;
    EXPECT_EQ(report.bottleneck.confidence, c.confidence) << c.name;
    EXPECT_FALSE(report.bottleneck.evidence.empty()) << c.name;
    ASSERT_EQ(report.bottleneck.share_pct.has_value(), c.share_pct >= 0) << c.name;
    if (c.share_pct >= 0) {
      EXPECT_NEAR(*report.bottleneck.share_pct, c.share_pct, 2) << c.name;
    }
  }
}

TEST(Causes, SumToTheStep) {
  for (const VerdictCase& c : kVerdictCases) {
    const TraceReport report = AnalyzeTrace(Job(c.fill));
    DurationNs sum;
    for (const CauseRow& row : report.causes) {
      sum += row.time;
      EXPECT_GE(row.time, Us(0)) << c.name << ": " << row.name;
    }
    EXPECT_EQ(sum, *report.steps.p50) << c.name;
  }
}

TEST(Causes, IdleUnderTheLoaderIsNotASyncsToo) {
  // The host waits for the GPU, then for data. Without the first wait it would only wait longer for
  // data.
  const TraceReport report = AnalyzeTrace(Job([](StoreBuilder& b, std::int64_t at) {
    Busy(b, at, kGemm, 10, 400);
    b.Call("cudaStreamSynchronize", kMain, at + 20, 381);
    DataWait(b, at, 401, 500);
  }));
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kInput);
  for (const CauseRow& row : report.causes) {
    if (row.name == "synchronization") {
      EXPECT_LE(row.time, Us(1));
    }
  }
}

TEST(Bottleneck, DoesNotBlameTheHostForWhatRecordingMayHaveTaken) {
  // A quarter of the step waits for the host. An operator costs 1.6 us to record, and the GPU waits
  // for the host while it records.
  const auto late = [](int operators) {
    return [operators](StoreBuilder& b, std::int64_t at) {
      Busy(b, at, kGemm, 10, 740);
      for (int k = 0; k < operators; ++k) b.Op("aten::view", kMain, at + 10 + k * 5, 2);
      b.Launch("aten::mm", kMain, at + 985, kAdd, kStream, at + 990, 5);
    };
  };
  const Bottleneck sure = AnalyzeTrace(Job(late(5))).bottleneck;
  EXPECT_EQ(sure.verdict, Verdict::kHost);
  EXPECT_EQ(sure.confidence, "medium");
  const Bottleneck unsure = AnalyzeTrace(Job(late(100))).bottleneck;
  EXPECT_EQ(unsure.verdict, Verdict::kBalanced);
  EXPECT_EQ(unsure.confidence, "low");
  EXPECT_FALSE(unsure.share_pct);
  EXPECT_NE(unsure.evidence.back().find("without the profiler"), std::string::npos);
}

TEST(Bottleneck, OfKernelsAloneIsCommunicationThatOutlastsCompute) {
  // No launch was recorded, so the cause of idle time is unknown. Each step runs six kernels and is
  // then idle.
  const auto kernels_only = [](std::int64_t compute, std::int64_t exchange) {
    StoreBuilder b;
    for (int step = 0; step < 12; ++step) {
      std::int64_t at = step * 1000;
      for (int k = 0; k < 3; ++k) {
        b.Kernel(kGemm, kStream, at, compute);
        b.Kernel(kAllReduce, kStream, at + compute, exchange);
        at += compute + exchange;
      }
      b.Kernel(kAdd, kStream, at, 10);
    }
    return AnalyzeTrace(b).bottleneck;
  };
  const Bottleneck verdict = kernels_only(60, 80);
  EXPECT_EQ(verdict.verdict, Verdict::kCommunication);
  EXPECT_EQ(verdict.confidence, "low");
  EXPECT_NEAR(*verdict.share_pct, 24, 2);
  EXPECT_NE(verdict.evidence.back().find("does not show why"), std::string::npos);
  EXPECT_EQ(kernels_only(80, 60).verdict, Verdict::kUnknown) << "less than the compute";
  EXPECT_EQ(kernels_only(10, 40).verdict, Verdict::kUnknown) << "12 % of the step";
}

TEST(Bottleneck, WithoutStepsIsThatOfTheWholeRecording) {
  StoreBuilder b;
  b.Launch("aten::mm", kMain, 1000, kGemm, kStream, 1010, 90);
  b.Launch("aten::conv", kMain, 1300, kAdd, kStream, 1310, 90);
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.steps.source, StepSource::kNone);
  EXPECT_TRUE(report.steps.list.empty());
  ASSERT_TRUE(report.stretch);
  EXPECT_EQ(report.stretch->wall, Us(400)) << "from the first launch to the last task's end";
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kHost);
  EXPECT_EQ(report.bottleneck.of, "the recording");
  EXPECT_NEAR(*report.bottleneck.share_pct, 100.0 * 220 / 400, 1);
  ASSERT_FALSE(report.findings.empty());
  EXPECT_NE(report.findings[0].title.find("in total"), std::string::npos);
}

TEST(Bottleneck, OfBurstsIsThatOfTheMeanStep) {
  // A loader with four workers: every fourth step waits for all of them.
  StoreBuilder b;
  std::int64_t at = 0;
  for (int i = 0; i < 16; ++i) {
    const std::int64_t wait = i % 4 == 3 ? 2000 : 10;
    b.Step(i, kMain, at, 500 + wait);
    b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain, at, wait);
    b.Launch("aten::mm", kMain, at + wait + 5, kGemm, kStream, at + wait + 10, 480);
    at += 500 + wait;
  }
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.steps.p50, Us(510));
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kInput);
  EXPECT_NEAR(*report.bottleneck.share_pct, 50, 2);
  EXPECT_EQ(report.findings[0].id, "data-wait");
  EXPECT_NEAR(static_cast<double>(report.breakdown->step.data_wait.ns()), 507'500, 5'000);
  EXPECT_EQ(report.breakdown->median.data_wait, Us(10));
  EXPECT_GT(report.breakdown->p90.data_wait, Us(1900));
}

TEST(Bottleneck, IsNotDecidedByOneSlowStep) {
  StoreBuilder b;
  std::int64_t at = 0;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t wait = i == 7 ? 30'000 : 10;
    b.Step(i, kMain, at, 500 + wait);
    b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain, at, wait);
    b.Launch("aten::mm", kMain, at + wait + 5, kGemm, kStream, at + wait + 10, 480);
    at += 500 + wait;
  }
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kGpuCompute);
  EXPECT_GT(*report.bottleneck.share_pct, 90) << "of the step time, without the slow step";
  EXPECT_EQ(report.bottleneck.confidence, "low");
  EXPECT_NE(report.bottleneck.evidence[0].find("step 7 takes 30.5"), std::string::npos)
      << report.bottleneck.evidence[0];
  const Finding& slow = report.findings[0];
  EXPECT_EQ(slow.id, "outlier-steps");
  EXPECT_LT(*slow.share_pct, 100);
  EXPECT_NE(slow.evidence[1].find("waits for data (enumerate(DataLoader)"), std::string::npos)
      << slow.evidence[1];
}

TEST(Bottleneck, OfAnOptimizerThatStepsLessOftenIsNoOutlier) {
  StoreBuilder b;
  std::int64_t at = 0;
  for (int i = 0; i < 16; ++i) {
    const std::int64_t update = i % 4 == 3 ? 800 : 0;
    b.Step(i, kMain, at, 500 + update);
    b.Launch("aten::mm", kMain, at + 5, kGemm, kStream, at + 10, 480);
    if (update > 0) {
      b.Annotation("Optimizer.step#AdamW.step", kMain, at + 500, update);
      b.Launch("aten::add", kMain, at + 510, kAdd, kStream, at + 520, 770);
    }
    at += 500 + update;
  }
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.steps.optimizer_every, 4);
  for (const Finding& finding : report.findings) EXPECT_NE(finding.id, "outlier-steps");
  EXPECT_EQ(report.breakdown->gpu.optimizer, DurationNs(192'500)) << "a quarter of 770 us";
}

TEST(Bottleneck, OfWorkThatWaitedForWhatWasNotRecordedBeginsWithIt) {
  // Launched 5 ms before the GPU began, so the GPU was still running the previous iteration.
  StoreBuilder b;
  b.Annotation("execute_1_context_0(0)_generation_1(1)", kMain, 0, 400);
  b.Launch("aten::mm", kMain, 10, kGemm, kStream, 5010, 800);
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.breakdown->wall, Us(800));
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kGpuMemory) << "one token reads all weights";
}

TEST(Bottleneck, NoShippedGpuTurnsEarlierThanAnUnknownOne) {
  for (const DeviceSpec& device : TestReferenceData().devices().devices()) {
    if (const std::optional<double> point = TurningPoint(device)) {
      EXPECT_GE(*point, kMinTurningPoint) << device.name;
    }
  }
}

TEST(Bottleneck, AbstainsAndSaysWhy) {
  StoreBuilder no_gpu;
  no_gpu.Step(0, kMain, 0, 100);
  no_gpu.Op("aten::mm", kMain, 0, 10);
  StoreBuilder orphans;
  orphans.Step(0, kMain, 0, 100);
  orphans.Launch("aten::mm", kMain, 0, kGemm, kStream, 10, 10);
  for (int i = 0; i < 9; ++i) orphans.Kernel(kGemm, kStream, 30 + i, 1, 700 + i);
  const struct {
    const StoreBuilder& builder;
    const char* says;
  } kCases[] = {{no_gpu, "no GPU work"}, {orphans, "health D"}};
  for (const auto& c : kCases) {
    const TraceReport report = AnalyzeTrace(c.builder);
    EXPECT_EQ(report.bottleneck.verdict, Verdict::kUnknown) << c.says;
    EXPECT_TRUE(report.bottleneck.confidence.empty());
    EXPECT_FALSE(report.bottleneck.share_pct);
    // The only finding is about the step without GPU work, 90 % of which has no explanation.
    EXPECT_EQ(report.findings.size(), &c.builder == &no_gpu ? 1u : 0u);
    ASSERT_FALSE(report.bottleneck.evidence.empty());
    EXPECT_NE(report.bottleneck.evidence[0].find(c.says), std::string::npos)
        << report.bottleneck.evidence[0];
  }
}

TEST(Bottleneck, IsUnknownWhereNobodyKnowsWhatTheGpuWaitsFor) {
  StoreBuilder b = Job([](StoreBuilder& step, std::int64_t at) {
    Busy(step, at, kGemm, 2, 400);
    step.Kernel(kGemm, kStream, at + 890, 90, 900'000 + at);  // Its launch was lost.
  });
  for (int i = 0; i < 200; ++i)
    b.Launch("aten::mm", kMain, 4980, kAdd, kSideStream, 5000 + i, 1);  // Few are orphans.
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kUnknown);
  EXPECT_NE(report.bottleneck.evidence.back().find("does not show why"), std::string::npos);
  for (const Finding& finding : report.findings) EXPECT_NE(finding.id, "gaps-between-kernels");
}

TEST(Bottleneck, OfUnknownIdleComesBeforeAShorterKnownWait) {
  StoreBuilder b = Job([](StoreBuilder& step, std::int64_t at) {
    step.Launch("aten::mm", kMain, at + 200, kGemm, kStream, at + 205, 200);  // Host: about 200 us.
    step.Kernel(kGemm, kStream, at + 985, 5, 900'000 + at);                   // Unknown: 580 us.
  });
  for (int i = 0; i < 200; ++i)
    b.Launch("aten::mm", kMain, 4980, kAdd, kSideStream, 5000 + i, 1);  // Few are orphans.
  EXPECT_EQ(AnalyzeTrace(b).bottleneck.verdict, Verdict::kUnknown);
}

TEST(Bottleneck, OfKernelsThatNoRuleKnowsIsUnknown) {
  const Bottleneck verdict = AnalyzeTrace(Job([](StoreBuilder& b, std::int64_t at) {
                               Busy(b, at, "my_kernel", 20, 900);
                               Busy(b, at, kGemm, 900, 990);
                             })).bottleneck;
  EXPECT_EQ(verdict.verdict, Verdict::kUnknown);
  EXPECT_TRUE(verdict.confidence.empty());
  EXPECT_FALSE(verdict.share_pct);
  EXPECT_NE(verdict.evidence.back().find("no rule classifies the other kernels"),
            std::string::npos);
}

TEST(Bottleneck, OfSeveralGpusOfOneProcessIsLessSure) {
  const Bottleneck verdict =
      AnalyzeTrace(Job([](StoreBuilder& b, std::int64_t at) {
        Busy(b, at, kGemm, 20, 990);
        b.Launch("aten::mm", kMain, at + 7, kGemm, kStream, at + 20, 400).Device(1);
      })).bottleneck;
  EXPECT_EQ(verdict.verdict, Verdict::kGpuCompute);
  EXPECT_EQ(verdict.confidence, "low");
  EXPECT_NE(verdict.evidence.back().find("2 GPUs"), std::string::npos);
}

TEST(Causes, TheGpuWaitsForTheHostBeforeItsFirstTask) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 1000);
  b.Launch("aten::mm", kMain, 500, kGemm, kStream, 510, 490);
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kHost);
  for (const CauseRow& row : report.causes) {
    if (row.name == "host") {
      EXPECT_EQ(row.time, Us(510));
    }
  }
}

TEST(Bottleneck, IsLessSureOfInferredStepsAndDamagedTraces) {
  StoreBuilder inferred;
  for (int i = 0; i < 4; ++i) {
    inferred.Annotation("learn", kMain, i * 1000, 990);
    HostBound(inferred, i * 1000);
  }
  Bottleneck verdict = AnalyzeTrace(inferred).bottleneck;
  EXPECT_EQ(verdict.verdict, Verdict::kHost);
  EXPECT_EQ(verdict.confidence, "low");

  const std::unique_ptr<TraceStore> cut = Job(HostBound).Build();
  cut->log.Add(ImportIssue::kTruncated);
  verdict = Analyze(*cut, TestReferenceData(), {}).value().bottleneck;
  EXPECT_EQ(verdict.verdict, Verdict::kHost);
  EXPECT_EQ(verdict.confidence, "low");
}

TEST(Bottleneck, OfAMedianStepWithoutGpuWorkIsUnknown) {
  StoreBuilder b = Job(HostBound);
  b.Step(5, kMain, 5000, 400);
  DataWait(b, 5000, 10, 300);
  for (int k = 0; k < 5; ++k) b.Op("aten::empty", kMain, 5320 + k * 3, 2);
  AnalysisOptions options;
  options.first_step = options.last_step = 5;
  const TraceReport report = AnalyzeTrace(b, options);
  EXPECT_EQ(report.steps.list.size(), 1u);
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kUnknown);
  EXPECT_EQ(report.bottleneck.confidence, "");
  EXPECT_NE(report.bottleneck.evidence.front().find("no GPU work was launched"), std::string::npos);
  EXPECT_TRUE(report.findings.empty());
  EXPECT_FALSE(report.ceiling);
}

TEST(Bottleneck, OfAStepWhoseHostRunsOnIsNotSure) {
  for (const bool runs_on : {false, true}) {
    StoreBuilder b;
    b.Step(1, kMain, 0, runs_on ? 90'000 : 1100);
    HostBound(b, 0);
    const TraceReport report = AnalyzeTrace(b);
    EXPECT_EQ(report.bottleneck.verdict, Verdict::kHost);
    EXPECT_EQ(report.bottleneck.confidence, runs_on ? "low" : "high");
    EXPECT_EQ(report.bottleneck.evidence.back().find("90.0 ms") != std::string::npos, runs_on);
    EXPECT_EQ(report.ceiling.has_value(), !runs_on);
  }
}

TEST(Bottleneck, OfABalancedStepSaysWhichRuleFired) {
  const auto balance = [](const std::function<void(StoreBuilder&, std::int64_t)>& fill) {
    const Bottleneck verdict = AnalyzeTrace(Job(fill)).bottleneck;
    EXPECT_EQ(verdict.verdict, Verdict::kBalanced);
    return verdict.balance;
  };
  EXPECT_EQ(balance([](StoreBuilder& b, std::int64_t at) {
              Busy(b, at, kGemm, 10, 590);
              DataWait(b, at, 590, 200);
              Callback(b, at, 790, 200);
            }),
            "the largest: waits for data 20.0 %, callbacks 20.0 %");
  EXPECT_NE(balance([](StoreBuilder& b, std::int64_t at) {  // 200 us, 160 us of it from recording.
              Busy(b, at, kGemm, 10, 790);
              for (int k = 0; k < 98; ++k) b.Op("aten::view", kMain, at + 10 + k * 8, 2);
              b.Launch("aten::mm", kMain, at + 985, kGemm, kStream, at + 990, 5);
            })
                .find("without the cost of recording"),
            std::string::npos);
  EXPECT_NE(balance([](StoreBuilder& b, std::int64_t at) {
              Busy(b, at, kGemm, 10, 590);
              b.Call("cudaMemcpyAsync", kMain, at + 10, 5, at + 1);
              b.Copy(CopyKind::kDeviceToHost, kStream, at + 590, 400, at + 1);
            }).find("copies to the host"),
            std::string::npos);
  EXPECT_NE(balance([](StoreBuilder& b, std::int64_t at) {
              Busy(b, at, kGemm, 10, 590);
              DataWait(b, at, 590, 130);
              Callback(b, at, 720, 130);
              b.Call("cudaMemcpyAsync", kMain, at + 20, 5, at + 1);
              b.Copy(CopyKind::kDeviceToHost, kStream, at + 850, 120, at + 1);
            }).find("many causes"),
            std::string::npos);
}

TEST(Bottleneck, OfACutFileWithoutAWholeStepIsUnknown) {
  const std::unique_ptr<TraceStore> cut = Job(HostBound).Build();
  cut->log.Add(ImportIssue::kTruncated);
  AnalysisOptions options;
  options.first_step = 4;
  const TraceReport report = Analyze(*cut, TestReferenceData(), options).value();
  EXPECT_EQ(report.steps.list.size(), 1u);
  EXPECT_FALSE(report.steps.p50);
  EXPECT_FALSE(report.breakdown);
  EXPECT_FALSE(report.ceiling);
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kUnknown);
  EXPECT_NE(report.bottleneck.evidence.front().find("cut"), std::string::npos);
}

TEST(Bottleneck, IsOfTheProcessThatHasTheSteps) {
  StoreBuilder b = Job(HostBound);
  b.InProcess("2");
  for (int i = 0; i < 5; ++i)
    b.Launch("aten::mm", kMain, i * 1000, kGemm, kStream, i * 1000 + 1, 998).Device(1);
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kHost);
  DurationNs sum;
  for (const CauseRow& row : report.causes) sum += row.time;
  EXPECT_EQ(sum, *report.steps.p50);
}

}  // namespace bottleneck_test
}  // namespace headroom
