#include "analysis/verdict/health.h"

#include <algorithm>

#include "analysis/test_trace.h"
#include "store/trace_formats.h"

namespace headroom {
namespace health_test {

/// Builds a complete job of three steps.
StoreBuilder SoundJob() {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  b.Frame("train.py(1): <module>", kMain, 0, 300);
  for (int i = 0; i < 3; ++i) {
    b.Step(i, kMain, i * 100, 100);
    for (int k = 0; k < 30; ++k)
      b.Launch("aten::mm", kMain, i * 100 + 3 * k, kGemm, kStream, i * 100 + 3 * k + 1, 2);
  }
  b.Op("aten::mm", kMain, 95, 1).Shapes("[[4, 4], [4, 4]]", R"(["float", "float"])");
  return b;
}

Health HealthOf(const StoreBuilder& b) { return AnalyzeTrace(b).health; }

std::int64_t CountOf(const Health& health, ImportIssue issue) {
  for (const HealthIssue& found : health.issues) {
    if (found.issue == issue) return found.count;
  }
  return 0;
}

/// Returns the health of the job after a change to its import log or metadata.
template <typename Change>
Health HealthAfter(const StoreBuilder& b, Change change) {
  const std::unique_ptr<TraceStore> store = b.Build();
  change(*store);
  return Analyze(*store, TestReferenceData(), {}).value().health;
}

TEST(Health, OfASoundTraceIsAWithoutIssues) {
  const Health health = HealthOf(SoundJob());
  EXPECT_EQ(health.grade, 'A');
  for (const HealthIssue& issue : health.issues) ADD_FAILURE() << DocOf(issue.issue).code;
}

TEST(Health, OfNothingIsF) { EXPECT_EQ(HealthOf(StoreBuilder()).grade, 'F'); }

TEST(Health, SaysWhichPartsAreMissing) {
  StoreBuilder host_only;
  host_only.Op("aten::mm", kMain, 0, 10);
  Health health = HealthOf(host_only);
  EXPECT_EQ(health.grade, 'A') << "a job on the CPU has no GPU work";
  for (const ImportIssue issue : {ImportIssue::kNoGpu, ImportIssue::kNoShapes,
                                  ImportIssue::kNoStacks, ImportIssue::kNoSteps}) {
    EXPECT_EQ(CountOf(health, issue), 1) << DocOf(issue).code;
  }
  EXPECT_EQ(CountOf(health, ImportIssue::kNoHost), 0);

  StoreBuilder gpu_only;
  gpu_only.Kernel(kGemm, kStream, 0, 10);
  gpu_only.Event(HostEventKind::kGpuAnnotation, "ProfilerStep#0", kStream, 0,
                 10);  // On a stream, so not a host event.
  gpu_only.Event(HostEventKind::kOther, "PyTorch Profiler (0)", 9, 0, 100);
  health = HealthOf(gpu_only);
  EXPECT_EQ(health.grade, 'A') << "some profilers record no launches";
  EXPECT_EQ(CountOf(health, ImportIssue::kNoHost), 1);
  EXPECT_EQ(CountOf(health, ImportIssue::kNoDeviceProperties), 1);
  EXPECT_EQ(CountOf(health, ImportIssue::kOrphanTask), 0) << "said by no-host already";
}

TEST(Health, OfLaunchesWithoutAnyGpuWorkIsD) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 10);
  b.Call("cudaLaunchKernel", kMain, 2, 3, 1);
  EXPECT_EQ(HealthOf(b).grade, 'D');
}

TEST(Health, NamesTheRemedyAndWhatIsVoid) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 10);
  for (const HealthIssue& issue : HealthOf(b).issues) {
    if (issue.issue != ImportIssue::kNoShapes) continue;
    EXPECT_NE(issue.detail.find("record_shapes=True"), std::string::npos) << issue.detail;
    EXPECT_EQ(issue.voids, (std::vector<std::string>{"FLOPs", "roofline", "MFU"}));
  }
}

TEST(Health, DamageIsOfErrorsThatWeigh) {
  const std::unique_ptr<TraceStore> store = SoundJob().Build();
  store->metadata.events = 10'000;
  EXPECT_EQ(DamageOf(*store), "");
  store->log.Add(ImportIssue::kLostEvent);
  store->log.Add(ImportIssue::kRepairedEvent, -1, {}, 5'000);
  EXPECT_EQ(DamageOf(*store), "") << "one of many events changes nothing";
  store->log.Add(ImportIssue::kCutCompression, 17);
  const std::string damage = DamageOf(*store);
  EXPECT_EQ(damage.find("error cut-compression: "), 0u) << damage;
  EXPECT_NE(damage.find("byte 17. Remedy: copy"), std::string::npos) << damage;
}

TEST(Health, OperatorsThatAreMissingAreAnIssueOfTheirOwn) {
  StoreBuilder b;
  b.Call("cudaLaunchKernel", kMain, 0, 5, 1);
  b.Kernel(kGemm, kStream, 10, 10, 1);
  const Health health = HealthOf(b);
  EXPECT_EQ(CountOf(health, ImportIssue::kNoOperators), 1);
  EXPECT_EQ(CountOf(health, ImportIssue::kNoHost), 0);
  EXPECT_EQ(CountOf(health, ImportIssue::kNoShapes), 0) << "said by no-operators already";
  EXPECT_EQ(health.grade, 'A');
  for (const HealthIssue& issue : health.issues) {
    if (issue.issue != ImportIssue::kNoOperators) continue;
    EXPECT_NE(issue.detail.find("ProfilerActivity.CPU"), std::string::npos) << issue.detail;
    EXPECT_EQ(issue.voids, (std::vector<std::string>{"operators", "FLOPs", "roofline", "MFU"}));
  }
}

TEST(Health, RemediesAreThoseOfTheToolThatRecorded) {
  StoreBuilder b;
  b.Annotation("FORWARD", kMain, 0, 10);
  const Health health =
      HealthAfter(b, [](TraceStore& store) { store.metadata.format = kPerfettoFormat; });
  int seen = 0;
  for (const HealthIssue& issue : health.issues) {
    if (issue.issue == ImportIssue::kNoGpu) {
      ++seen;
      EXPECT_NE(issue.detail.find("headroom doctor"), std::string::npos) << issue.detail;
      EXPECT_EQ(issue.detail.find("ProfilerActivity"), std::string::npos) << issue.detail;
    } else if (issue.issue == ImportIssue::kNoStacks) {
      ++seen;
      EXPECT_NE(issue.detail.find("torch.profiler, with with_stack=True"), std::string::npos)
          << issue.detail;
    }
  }
  EXPECT_EQ(seen, 2);
}

TEST(Health, NamesNoSettingThatTheExporterIgnores) {
  StoreBuilder b;
  b.Op("aten::mm", kMain, 0, 10);
  const Health health =
      HealthAfter(b, [](TraceStore& store) { store.metadata.names_and_times_only = true; });
  int seen = 0;
  for (const HealthIssue& issue : health.issues) {
    if (issue.issue != ImportIssue::kNoShapes && issue.issue != ImportIssue::kNoStacks) continue;
    ++seen;
    EXPECT_NE(issue.detail.find("never writes them. Remedy: a newer PyTorch, with "),
              std::string::npos)
        << issue.detail;
  }
  EXPECT_EQ(seen, 2);
}

struct OrphanCase {
  int orphans;
  char grade;
};

TEST(Health, OrphansLowerTheGradeByTheirShare) {
  // The sound job has 90 tasks.
  for (const OrphanCase& c : {OrphanCase{4, 'B'}, OrphanCase{10, 'C'}, OrphanCase{100, 'D'}}) {
    StoreBuilder b = SoundJob();
    for (int i = 0; i < c.orphans; ++i) b.Kernel(kGemm, kStream, 400 + i, 1, 9000 + i);
    const Health health = HealthOf(b);
    EXPECT_EQ(health.grade, c.grade) << c.orphans;
    EXPECT_EQ(CountOf(health, ImportIssue::kOrphanTask), c.orphans);
  }
}

TEST(Health, TasksAtTheStartOfAStreamAreWorkBeforeTheFirstStepAndNoOrphans) {
  StoreBuilder b = SoundJob();
  for (int i = 0; i < 50; ++i) b.Kernel(kGemm, kStream, i - 100, 1);
  const Health health = HealthOf(b);
  EXPECT_EQ(CountOf(health, ImportIssue::kOrphanTask), 0);
  EXPECT_EQ(CountOf(health, ImportIssue::kWorkBeforeFirstStep), 50);
  EXPECT_EQ(health.grade, 'A');
}

TEST(Health, LaunchesIntoAGraphNeedNoTask) {
  StoreBuilder b;
  b.Call("cudaStreamBeginCapture", kMain, 0, 1);
  for (int i = 0; i < 10; ++i) b.Call("cudaLaunchKernel", kMain, 10 + i * 5, 2, i + 1);
  b.Call("cudaStreamEndCapture", kMain, 90, 1);
  b.Call("cudaGraphLaunch", kMain, 100, 5, 50);
  for (int i = 0; i < 10; ++i) b.Kernel(kGemm, kStream, 110 + i * 5, 5, 50);
  EXPECT_EQ(CountOf(HealthOf(b), ImportIssue::kLaunchWithoutTask), 0);
  b.Call("cudaLaunchKernel", kMain, 200, 2, 60);
  EXPECT_EQ(CountOf(HealthOf(b), ImportIssue::kLaunchWithoutTask), 1);
}

TEST(Health, LaunchesWithoutATaskAreCountedOnceThroughNestedCalls) {
  StoreBuilder b = SoundJob();
  for (int i = 0; i < 4;
       ++i) {  // Joined through the runtime call; the driver call inside has the same number.
    b.Call("cudaLaunchKernelExC", kMain, 400 + 10 * i, 5, 100 + i);
    b.DriverCall("cuLaunchKernelEx", kMain, 401 + 10 * i, 3, 100 + i);
    b.Kernel(kGemm, kStream, 405 + 10 * i, 2, 100 + i);
  }
  EXPECT_EQ(CountOf(HealthOf(b), ImportIssue::kLaunchWithoutTask), 0);
  b.Call("cudaLaunchKernel", kMain, 500, 5, 200);
  b.Call("cudaMemcpyAsync", kMain, 510, 5, 201);  // A copy to its own source creates no task.
  b.Call("cudaLaunchKernel", kMain, 520, 5);      // No number: for example, captured into a graph.
  EXPECT_EQ(CountOf(HealthOf(b), ImportIssue::kLaunchWithoutTask), 1);
}

// Level Zero numbers its calls separately, and sets arguments before it launches.
TEST(Health, LaunchesInsideALaunchAreOneWhateverTheirNumbers) {
  StoreBuilder b = SoundJob();
  b.Call("urEnqueueKernelLaunch", kMain, 400, 20, 100);
  b.DriverCall("zeKernelSetGroupSize", kMain, 401, 2);
  b.DriverCall("zeCommandListAppendLaunchKernel", kMain, 405, 5, 101);
  b.Kernel(kGemm, kStream, 430, 2, 101);
  EXPECT_EQ(CountOf(HealthOf(b), ImportIssue::kLaunchWithoutTask), 0);
  b.Call("urEnqueueKernelLaunch", kMain, 500, 20, 102);
  b.DriverCall("zeCommandListAppendLaunchKernel", kMain, 505, 5, 103);
  EXPECT_EQ(CountOf(HealthOf(b), ImportIssue::kLaunchWithoutTask), 1);
}

TEST(Health, SpansThatAreNotUnderstoodAreCountedAndNoAbsenceOfGpuWork) {
  StoreBuilder b;
  b.Step(0, kMain, 0, 100);
  b.Op("aten::mm", kMain, 10, 50);
  constexpr std::int64_t kDevice = 77;
  for (int i = 0; i < 4; ++i) b.Event(HostEventKind::kOther, "job", kDevice, 20 * i, 10);
  b.Event(HostEventKind::kOther, "detail", kMain, 20, 10);  // On a thread of the host.
  const TraceReport report = AnalyzeTrace(b);
  EXPECT_EQ(CountOf(report.health, ImportIssue::kNotUnderstood), 4);
  EXPECT_EQ(CountOf(report.health, ImportIssue::kNoGpu), 0);
  EXPECT_EQ(report.health.grade, 'A');
  EXPECT_EQ(report.bottleneck.verdict, Verdict::kUnknown);
  EXPECT_TRUE(report.findings.empty());
  const auto issue = std::find_if(
      report.health.issues.begin(), report.health.issues.end(),
      [](const HealthIssue& found) { return found.issue == ImportIssue::kNotUnderstood; });
  EXPECT_NE(issue->detail.find("4 spans on 1 track, 40.0 % of the recorded time"),
            std::string::npos)
      << issue->detail;
}

TEST(Health, MuchThatIsNotUnderstoodBesideKnownWorkTakesTheVerdictAway) {
  constexpr std::int64_t kDevice = 77;
  for (const int spans : {1, 20}) {
    StoreBuilder b = SoundJob();
    for (int i = 0; i < spans; ++i) b.Event(HostEventKind::kOther, "job", kDevice, 10 * i, 8);
    const TraceReport report = AnalyzeTrace(b);
    EXPECT_EQ(CountOf(report.health, ImportIssue::kNotUnderstood), spans);
    EXPECT_EQ(report.bottleneck.verdict == Verdict::kUnknown, spans > 1);
  }
}

TEST(Health, StepsThatLostTheirKernelsAreCounted) {
  StoreBuilder b = SoundJob();
  b.Step(3, kMain, 300, 100);  // Launches nothing: no loss.
  b.Step(4, kMain, 400, 100);
  b.Call("cudaLaunchKernel", kMain, 410, 5, 200);
  const Health health = HealthOf(b);
  EXPECT_EQ(CountOf(health, ImportIssue::kStepWithoutKernels), 1);
  EXPECT_EQ(health.grade, 'C');
}

TEST(Health, WrongTimeStampsAreToldAndCostTheSteps) {
  StoreBuilder b;
  for (int i = 0; i < 3; ++i) {
    b.Step(i, kMain, i * 100, 100);
    for (int k = 0; k < 5; ++k) {
      const std::int64_t at = i * 100 + k * 20;
      b.Launch("aten::mm", kMain, at, kGemm, kStream, i == 0 && k == 2 ? 20'000'000 : at + 5, 10);
    }
  }
  const Health health = HealthOf(b);
  EXPECT_EQ(CountOf(health, ImportIssue::kMisplacedTask), 1);
  EXPECT_EQ(CountOf(health, ImportIssue::kStepWithoutKernels), 2);
  EXPECT_EQ(health.grade, 'C');
}

TEST(Health, SeveralProcessesThatLaunchWorkAreMixedRanks) {
  StoreBuilder b = SoundJob();
  b.InProcess("2").Op("aten::cat", kMain, 0, 10);  // A worker of the loader launches nothing.
  EXPECT_EQ(CountOf(HealthOf(b), ImportIssue::kMixedRanks), 0);
  b.InProcess("1")
      .Launch("aten::mm", kMain, 99, kGemm, kStream, 301, 1)
      .Device(1);  // One process, two devices.
  EXPECT_EQ(CountOf(HealthOf(b), ImportIssue::kMixedRanks), 0);
  b.InProcess("3").Launch("aten::mm", kMain, 20, kGemm, kStream, 302,
                          1);  // The same device number, but on another machine.
  const Health health = HealthOf(b);
  EXPECT_EQ(CountOf(health, ImportIssue::kMixedRanks), 1);
  EXPECT_EQ(health.grade, 'C');
}

TEST(Health, GradesDamageByItsShareOfTheEvents) {
  const struct {
    const char* name;
    ImportIssue issue;
    std::int64_t count;
    char grade;
  } kCases[] = {
      {"one of a million lost", ImportIssue::kLostEvent, 1, 'B'},
      {"0.2 % lost", ImportIssue::kLostEvent, 2'000, 'C'},
      {"2 % lost", ImportIssue::kBadTime, 20'000, 'D'},
      {"20 % lost", ImportIssue::kOversizedEvent, 200'000, 'E'},
      {"repaired", ImportIssue::kRepairedEvent, 5, 'B'},
      {"cut", ImportIssue::kTruncated, 1, 'C'},
      {"cut gzip", ImportIssue::kCutCompression, 1, 'C'},
      {"garbage behind", ImportIssue::kTrailingGarbage, 1, 'A'},
      {"sorted", ImportIssue::kOutOfOrder, 1000, 'A'},
  };
  for (const auto& c : kCases) {
    const Health health = HealthAfter(SoundJob(), [&](TraceStore& store) {
      store.metadata.events = 1'000'200;
      store.log.Add(c.issue, 17, "detail", c.count);
    });
    EXPECT_EQ(health.grade, c.grade) << c.name;
    EXPECT_EQ(CountOf(health, c.issue), c.count);
    EXPECT_NE(health.issues.front().detail.find("byte 17"), std::string::npos)
        << health.issues.front().detail;
  }
}

TEST(Health, AMillionEventsAreTheExportersCap) {
  const auto with_events = [](std::int64_t events) {
    return CountOf(
        HealthAfter(SoundJob(), [&](TraceStore& store) { store.metadata.events = events; }),
        ImportIssue::kEventCap);
  };
  EXPECT_EQ(with_events(999'999), 0);
  EXPECT_EQ(with_events(1'000'000), 1);
  EXPECT_EQ(with_events(1'000'050), 1) << "metadata rows are not capped";
  EXPECT_EQ(with_events(1'100'000), 0);
}

TEST(Health, WarnsOfASharedJobWithoutCommunication) {
  const auto set_world = [](TraceStore& store) { store.metadata.world_size = 8; };
  EXPECT_EQ(CountOf(HealthAfter(SoundJob(), set_world), ImportIssue::kNoCollectives), 1);
  StoreBuilder b = SoundJob();
  b.Kernel(kAllReduce, kStream, 50, 1);
  EXPECT_EQ(CountOf(HealthAfter(b, set_world), ImportIssue::kNoCollectives), 0);
}

TEST(Health, OfACutFileSaysWhatTheCutMayHaveTaken) {
  StoreBuilder host_only;
  host_only.Op("aten::mm", kMain, 0, 10);
  for (const bool cut : {false, true}) {
    const Health health = HealthAfter(host_only, [cut](TraceStore& store) {
      if (cut) store.log.Add(ImportIssue::kTruncated);
    });
    EXPECT_EQ(health.cut, cut);
    for (const HealthIssue& issue : health.issues) {
      if (issue.issue != ImportIssue::kNoGpu && issue.issue != ImportIssue::kNoStacks) continue;
      EXPECT_EQ(issue.detail.find("before the file was cut") != std::string::npos, cut);
      EXPECT_EQ(issue.detail.find("Remedy") != std::string::npos, !cut) << issue.detail;
    }
  }
}

TEST(Health, ListsTheWorstFirst) {
  const Health health = HealthAfter(SoundJob(), [](TraceStore& store) {
    store.log.Add(ImportIssue::kOutOfOrder);
    store.log.Add(ImportIssue::kRepairedEvent);
    store.log.Add(ImportIssue::kLostEvent);
  });
  ASSERT_EQ(health.issues.size(), 3u);
  EXPECT_TRUE(std::is_sorted(health.issues.begin(), health.issues.end(),
                             [](const HealthIssue& a, const HealthIssue& b) {
                               return DocOf(a.issue).severity > DocOf(b.issue).severity;
                             }));
}

}  // namespace health_test
}  // namespace headroom
