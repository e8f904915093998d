// Tests libheadroom_cupti.so in a separate process, loaded as the CUDA driver loads it, against a
// fake libcupti. Comments of regression tests cite the defect that they guard against.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "activity_recording.h"

namespace headroom::activity {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Results of a run: the received recording, and the fake's counts.
struct Outcome : Recording {
  std::map<std::string, std::int64_t> fake;
};

using Variables = std::vector<std::pair<std::string, std::string>>;

Outcome RunProgram(const std::vector<std::string>& commands, Variables environment = {},
                   RecordOptions options = {}) {
  const std::string log = testing::TempDir() + "fake_cupti." + std::to_string(getpid());
  std::remove(log.c_str());
  options.command = {FAKE_PROGRAM};
  options.command.insert(options.command.end(), commands.begin(), commands.end());
  options.environment = {{"CUDA_INJECTION64_PATH", INJECTION_LIBRARY},
                         {"LD_LIBRARY_PATH", FAKE_CUPTI_FOLDER},
                         {"FAKE_CUPTI_LOG", log},
                         {"CUDA_HOME", ""},
                         {"CUDA_PATH", ""}};
  options.environment.insert(options.environment.end(), environment.begin(), environment.end());
  Outcome outcome{Record(options), {}};
  std::ifstream lines(log);
  std::string what;
  std::int64_t count = 0;
  while (lines >> what >> count) outcome.fake[what] = count;
  std::remove(log.c_str());
  return outcome;
}

TEST(Injection, KernelsComeWithTheirCallsOnTheTicksOfTheCollector) {
  const Outcome run = RunProgram({"init", "launch", "1000"});
  EXPECT_EQ(run.status, 0);
  ASSERT_EQ(run.tasks.size(), 1000u);
  ASSERT_EQ(run.calls.size(), 1000u);
  EXPECT_EQ(run.dropped, 0u);
  EXPECT_EQ(run.unknown, 0);
  const auto begin = static_cast<std::uint64_t>(run.fake.at("begin"));
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(run.tasks[i].start, begin + i * 1000 + 200);
    EXPECT_EQ(run.tasks[i].end, begin + i * 1000 + 700);
    EXPECT_EQ(run.tasks[i].correlation, i + 1);
    EXPECT_EQ(run.calls[i].start, begin + i * 1000);
    EXPECT_EQ(run.calls[i].end, begin + i * 1000 + 100);
    EXPECT_EQ(run.calls[i].correlation, i + 1);
    EXPECT_EQ(run.calls[i].name, "cudaLaunchKernel");
    EXPECT_FALSE(run.calls[i].driver);
  }
  const Kept<GpuTask>& task = run.tasks[2];
  EXPECT_EQ(task.work, Work::kKernel);
  EXPECT_EQ(task.name, "at::native::add(int)");
  EXPECT_EQ(run.tasks[0].name, "void headroom_test::scale<float>(float*)");
  EXPECT_EQ(run.tasks[1].name, "triton_poi_fused_add_0");
  EXPECT_EQ(task.device, 1u);
  EXPECT_EQ(task.stream, 7u);
  EXPECT_EQ(task.context, 1u);
  EXPECT_EQ(task.graph_node, 0u);
  EXPECT_THAT(task.kernel.grid, ElementsAre(70000, 2, 3));
  EXPECT_THAT(task.kernel.block, ElementsAre(128, 1, 1));
  EXPECT_EQ(task.kernel.registers, 40u);
  EXPECT_EQ(task.kernel.shared_memory, 1072u);
}

TEST(Injection, EveryKindOfActivityIsRead) {
  const Outcome run = RunProgram({"init", "copy", "4096", "peer", "64", "sync", "overhead",
                                  "external", "77", "range", "mark", "name"},
                                 {{"HEADROOM_LEVEL", "full"}});
  ASSERT_EQ(run.tasks.size(), 4u);
  EXPECT_EQ(run.tasks[0].name, "Memcpy HtoD (Pinned -> Device)");
  EXPECT_EQ(run.tasks[0].copy, "HtoD");
  EXPECT_EQ(run.tasks[0].bytes, 4096u);
  EXPECT_EQ(run.tasks[0].work, Work::kMemcpy);
  EXPECT_EQ(run.tasks[1].name, "Memset (Device)");
  EXPECT_EQ(run.tasks[1].bytes, 4096u);
  EXPECT_EQ(run.tasks[1].work, Work::kMemset);
  EXPECT_EQ(run.tasks[2].name, "Memcpy PtoP (Device -> Device)");
  EXPECT_EQ(run.tasks[2].graph_node, 9u);
  EXPECT_EQ(run.tasks[2].copy, "PtoP");

  ASSERT_EQ(run.syncs.size(), 1u);
  EXPECT_EQ(run.syncs[0].name, "Stream Sync");
  EXPECT_EQ(run.syncs[0].stream, 7u);
  EXPECT_EQ(run.syncs[0].event, SyncPayload::kNone);
  EXPECT_EQ(run.syncs[0].correlation, 4u);
  EXPECT_EQ(run.syncs[0].end - run.syncs[0].start, 480u);

  ASSERT_EQ(run.overheads.size(), 2u);
  EXPECT_EQ(run.overheads[0].name, "Buffer Flush");
  EXPECT_NE(run.overheads[0].tid, 0u);
  EXPECT_EQ(run.overheads[1].name, "Activity Buffer Request");
  EXPECT_EQ(run.overheads[1].tid, 0u);

  ASSERT_EQ(run.external_ids.size(), 1u);
  EXPECT_EQ(run.external_ids[0].id, 77u);
  EXPECT_EQ(run.external_ids[0].correlation, run.tasks[3].correlation);

  ASSERT_EQ(run.ranges.size(), 2u);
  EXPECT_EQ(run.ranges[0].name, "layer::conv1");
  EXPECT_EQ(run.domains[0], "torch");
  EXPECT_EQ(run.ranges[0].end - run.ranges[0].start, 400u);
  EXPECT_EQ(run.ranges[0].tid, run.overheads[0].tid);
  EXPECT_EQ(run.ranges[1].name, "epoch");
  EXPECT_EQ(run.ranges[1].end, run.ranges[1].start);

  ASSERT_EQ(run.namings.size(), 1u);
  EXPECT_EQ(run.namings[0].name, "copy engine");
  EXPECT_EQ(run.namings[0].object, Object::kStream);
  EXPECT_EQ(run.namings[0].id, 7u);
  EXPECT_EQ(run.unknown, 0);
}

TEST(Injection, LevelsDecideWhatIsAskedOfCupti) {
  const Outcome gpu = RunProgram({"init", "range", "launch"}, {{"HEADROOM_LEVEL", "gpu"}});
  EXPECT_THAT(gpu.ranges, IsEmpty());
  EXPECT_EQ(gpu.tasks.size(), 1u);
  EXPECT_EQ(gpu.fake.count("enable_12"), 0u);
  EXPECT_EQ(gpu.fake.count("enable_3"), 0u) << "KERNEL runs kernels one after the other";
  EXPECT_EQ(gpu.fake.count("enable_51"), 0u) << "GRAPH_TRACE hides the kernels of graphs";

  const Outcome events = RunProgram({"init", "launch"}, {{"HEADROOM_LEVEL", "events"}});
  EXPECT_EQ(events.status, 0);
  EXPECT_EQ(events.images, 0);
  EXPECT_EQ(events.fake.count("subscriptions"), 0u);

  const Outcome off = RunProgram({"init", "launch"}, {{"HEADROOM", "0"}});
  EXPECT_EQ(off.status, 0);
  EXPECT_EQ(off.fake.count("subscriptions"), 0u);

  const Outcome alone = RunProgram({"init", "launch"}, {{"HEADROOM_SOCKET", ""}});
  EXPECT_EQ(alone.status, 0);
  EXPECT_EQ(alone.fake.count("subscriptions"), 0u) << "nobody would read it";
}

TEST(Injection, ASecondCallIsHarmless) {
  const Outcome run = RunProgram({"init", "init", "launch", "5", "init"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.tasks.size(), 5u);
  EXPECT_EQ(run.fake.at("subscriptions"), 1);
  EXPECT_EQ(run.images, 1);
}

TEST(Injection, DriverCallsInsideRuntimeCallsAreLeftOutAndOthersKept) {
  const Outcome run = RunProgram({"init", "launch", "3", "driver", "600", "launch", "3"});
  const auto driver = std::count_if(run.calls.begin(), run.calls.end(),
                                    [](const auto& call) { return call.driver; });
  EXPECT_EQ(driver, 600);
  EXPECT_EQ(run.calls.size(), 606u);
  EXPECT_THAT(run.calls, Contains(testing::Field(&Kept<ApiCall>::name, "cuLaunchKernel")));
}

TEST(Injection, CallsThatOnlyAskAreLeftOut) {
  // Before CUDA 12.5, CUPTI cannot disable single calls, so the library must skip their records.
  for (const char* folder : {FAKE_CUPTI_FOLDER, FAKE_OLD_CUPTI_FOLDER}) {
    const Outcome run =
        RunProgram({"init", "noise", "launch", "noise"}, {{"LD_LIBRARY_PATH", folder}});
    EXPECT_THAT(run.texts.at("cupti_started"), ElementsAre(HasSubstr(folder)));
    ASSERT_EQ(run.calls.size(), 1u);
    EXPECT_EQ(run.calls[0].name, "cudaLaunchKernel");
  }
}

// headroom/gpu_timer.hpp queries its events on a separate thread.
TEST(Injection, CallsOfOurOwnThreadsAreLeftOut) {
  const Outcome run = RunProgram(
      {"init", "launch", "2", "as", "headroom-gpu", "driver", "5", "wait", "500", "driver", "5"});
  ASSERT_EQ(run.calls.size(), 2u) << "those at the end, too, when the thread is gone";
  EXPECT_EQ(run.calls[0].name, "cudaLaunchKernel");
  const Outcome other = RunProgram({"init", "as", "headroom-gpus", "driver", "5", "wait", "500"});
  EXPECT_EQ(other.calls.size(), 5u);
}

TEST(Injection, KernelsOfAGraphShareACallAndHaveNodes) {
  const Outcome run = RunProgram({"init", "graph", "20"});
  ASSERT_EQ(run.calls.size(), 1u);
  EXPECT_EQ(run.calls[0].name, "cudaGraphLaunch");
  ASSERT_EQ(run.tasks.size(), 20u);
  for (std::size_t i = 0; i < run.tasks.size(); ++i) {
    EXPECT_EQ(run.tasks[i].correlation, run.calls[0].correlation);
    EXPECT_EQ(run.tasks[i].graph_node, (std::uint64_t{5} << 32) + i);
  }
}

// The regions of headroom/timer.h are in another image, which cannot push external ids. They are
// not needed: a call is on the region's thread and within the region's time, and the work has the
// call's correlation.
TEST(Injection, WorkIsJoinedToARegionByThreadAndTimeOfItsCall) {
  const Outcome run = RunProgram({"init", "region", "FORWARD", "launch", "4", "wait", "20",
                                  "endregion", "late", "launch", "3"});
  EXPECT_EQ(run.images, 2);
  ASSERT_EQ(run.regions.size(), 1u);
  const Region& region = run.regions[0];
  std::vector<std::uint32_t> inside;
  for (const auto& call : run.calls) {
    if (call.tid == region.tid && call.start >= region.start && call.end <= region.end)
      inside.push_back(call.correlation);
  }
  EXPECT_THAT(inside, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(run.calls.size(), 7u) << "those of the other thread are recorded, and outside";
}

TEST(Injection, BuffersInAnyOrderLoseNothing) {
  const Outcome run =
      RunProgram({"init", "backwards", "launch", "500"}, {{"FAKE_CUPTI_BUFFER_LIMIT", "4096"}});
  ASSERT_EQ(run.tasks.size(), 500u);
  EXPECT_GT(run.fake.at("buffers"), 20);
  EXPECT_FALSE(std::is_sorted(run.tasks.begin(), run.tasks.end(),
                              [](const auto& a, const auto& b) { return a.start < b.start; }));
  std::vector<std::uint32_t> correlations;
  for (const auto& task : run.tasks) correlations.push_back(task.correlation);
  std::sort(correlations.begin(), correlations.end());
  for (std::uint32_t i = 0; i < 500; ++i) EXPECT_EQ(correlations[i], i + 1);
}

TEST(Injection, WhatIsCompleteComesWhileTheProgramRuns) {
  // kill -9 loses at most the records since the last flush.
  const Outcome run = RunProgram({"init", "launch", "50", "wait", "700", "kill"});
  EXPECT_EQ(run.status, 128 + 9);
  EXPECT_EQ(run.tasks.size(), 50u);
  EXPECT_EQ(run.calls.size(), 50u);
}

TEST(Injection, RecordsThatCompleteAtTheExitOnlyAreFlushed) {
  const Outcome run = RunProgram({"init", "incomplete", "launch", "10", "exit", "3"});
  EXPECT_EQ(run.status, 3);
  EXPECT_EQ(run.tasks.size(), 10u);
  EXPECT_EQ(run.fake.at("forced_flushes"), 1);
}

TEST(Injection, RecordsThatCompleteAfterTheExitHandlersAreWritten) {
  const Outcome run = RunProgram({"init", "launch", "5", "hold", "launch", "10"});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.tasks.size(), 15u);
}

TEST(Injection, ContextsAndResetsFlushFirst) {
  const Outcome reset = RunProgram({"init", "incomplete", "launch", "10", "reset", "kill"});
  EXPECT_EQ(reset.tasks.size(), 10u);
  const Outcome destroy = RunProgram({"init", "incomplete", "launch", "10", "destroy", "kill"});
  EXPECT_EQ(destroy.tasks.size(), 10u);
}

TEST(Injection, ThreadsAreNumberedAsTheKernelDoes) {
  const Outcome run = RunProgram({"init", "launch", "late", "launch", "2"});
  ASSERT_EQ(run.calls.size(), 3u);
  EXPECT_EQ(run.fake.at("thread_id_type"), 1);
  EXPECT_NE(run.calls[0].tid, run.calls[1].tid);
  EXPECT_EQ(run.calls[1].tid, run.calls[2].tid);
}

// --- defects of other tools ---------------------------------------------------------------------

// pytorch #192021: each session registered the callback again, which corrupted the first kernels of
// later sessions.
TEST(Regression, TimestampCallbackIsRegisteredOnceOverManySessions) {
  std::vector<std::string> commands = {"init"};
  for (int session = 0; session < 5; ++session) {
    for (const char* word : {"start", "launch", "10", "stop", "launch", "10", "wait", "15"})
      commands.emplace_back(word);
  }
  const Outcome run = RunProgram(commands, {{"HEADROOM_STEPS", "3:4"}});
  EXPECT_EQ(run.fake.at("timestamp_callbacks"), 1);
  EXPECT_EQ(run.fake.at("enable_10"), 5);
  EXPECT_EQ(run.fake.at("disable_10"), 5);
  ASSERT_EQ(run.tasks.size(), 50u) << "launches outside the sessions are not recorded";
  EXPECT_EQ(run.messages.count("cupti_untimed_records"), 0u);
  const auto begin = static_cast<std::uint64_t>(run.fake.at("begin"));
  for (const auto& task : run.tasks) {
    EXPECT_EQ(task.end - task.start, 500u);
    EXPECT_EQ((task.start - begin) % 1000, 200u);
    EXPECT_LT((task.start - begin) / 1000 % 20, 10u);
  }
}

// kineto #109: records without a time became kernels in 1970.
TEST(Regression, RecordsWithoutATimeAreDroppedAndCounted) {
  const Outcome run = RunProgram({"init", "launch", "10", "zero", "7", "launch", "10"});
  EXPECT_EQ(run.tasks.size(), 20u);
  EXPECT_EQ(run.messages.at("cupti_untimed_records"), 7);
}

// pytorch #117935 and others: the program failed with a second client.
TEST(Regression, ASecondClientLeavesTheProgramAloneAndIsNamed) {
  const Outcome run =
      RunProgram({"init", "launch", "10", "exit", "5"}, {{"FAKE_CUPTI_SUBSCRIBE", "39"}});
  EXPECT_EQ(run.status, 5);
  EXPECT_THAT(run.tasks, IsEmpty());
  EXPECT_EQ(run.messages.at("cupti_unavailable"), 39);
  EXPECT_THAT(run.texts.at("cupti_unavailable"), ElementsAre(HasSubstr("Nsight Systems")));
  EXPECT_EQ(run.fake.count("enable_10"), 0u);
}

// Kineto, wprof: CUPTI before CUDA 12.9 crashes if a client refuses a buffer.
TEST(Regression, NoBufferIsEverRefusedAndWhatIsThrownAwayIsCounted) {
  const Outcome run =
      RunProgram({"init", "incomplete", "launch", "20000"}, {{"HEADROOM_MEMORY_MB", "1"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_GT(run.fake.at("small_buffers"), 0);
  EXPECT_GT(run.tasks.size(), 2000u) << "the first MiB";
  EXPECT_LT(run.tasks.size(), 20000u);
  EXPECT_GT(run.messages.at("cupti_discarded_bytes"), 1 << 20);
}

// NVIDIA: CUPTI returns INVALID_KIND where a record is not complete. The rest of the buffer is
// lost.
TEST(Regression, ABufferThatCannotBeReadToItsEndIsCounted) {
  const Outcome run = RunProgram({"init", "launch", "100"}, {{"FAKE_CUPTI_INVALID_RECORD", "61"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_GT(run.tasks.size(), 10u);
  EXPECT_LT(run.tasks.size(), 100u);
  EXPECT_GT(run.messages.at("cupti_discarded_bytes"), 0);
}

// --- missing parts ------------------------------------------------------------------------------

TEST(Injection, MissingRightsAreSaid) {
  const Outcome run = RunProgram({"init", "launch"}, {{"FAKE_CUPTI_SUBSCRIBE", "35"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.messages.at("cupti_unavailable"), 35);
  EXPECT_THAT(run.texts.at("cupti_unavailable"),
              ElementsAre(HasSubstr("NVreg_RestrictProfilingToAdminUsers")));
}

TEST(Injection, WithoutKernelsItLetsGoOfCupti) {
  const Outcome run = RunProgram({"init", "launch"}, {{"FAKE_CUPTI_ENABLE_10", "27"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.messages.at("cupti_unavailable"), 27);
  EXPECT_EQ(run.fake.at("unsubscriptions"), 1);
}

TEST(Injection, AKindThatIsMissingCostsThatKindOnly) {
  const Outcome run = RunProgram({"init", "launch", "overhead"}, {{"FAKE_CUPTI_ENABLE_17", "21"}});
  EXPECT_EQ(run.tasks.size(), 1u);
  EXPECT_THAT(run.overheads, IsEmpty());
  EXPECT_THAT(run.texts.at("cupti_kind_refused"), ElementsAre("overhead"));
}

TEST(Injection, WithoutALibraryItSaysWhatToInstall) {
  const Outcome run =
      RunProgram({"init", "launch", "exit", "4"},
                 {{"LD_LIBRARY_PATH", "/nonexistent"}, {"CUDA_HOME", "/nonexistent"}});
  EXPECT_EQ(run.status, 4);
  // If CUDA is installed, the test finds its CUPTI, but no driver.
  ASSERT_EQ(run.texts.count("cupti_unavailable"), 1u);
  EXPECT_THAT(run.texts.at("cupti_unavailable"),
              ElementsAre(testing::AnyOf(HasSubstr("no libcupti found"),
                                         HasSubstr("finds no driver"), HasSubstr("refuses"))));
}

TEST(Injection, ALibraryOfAnotherDriverIsPassedOverForTheNext) {
  const std::string both = std::string(FAKE_OTHER_DRIVER_CUPTI_FOLDER) + ":" + FAKE_CUPTI_FOLDER;
  const Outcome run = RunProgram({"init", "launch", "3"}, {{"LD_LIBRARY_PATH", both}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.tasks.size(), 3u);
  const Outcome alone =
      RunProgram({"init", "launch", "3"}, {{"LD_LIBRARY_PATH", FAKE_OTHER_DRIVER_CUPTI_FOLDER}});
  EXPECT_EQ(alone.status, 0);
  EXPECT_THAT(alone.texts.at("cupti_unavailable"), ElementsAre(HasSubstr("finds no driver")));
}

TEST(Injection, ALibraryThatIsTooOldIsSaid) {
  const Outcome run = RunProgram({"init", "launch"}, {{"FAKE_CUPTI_VERSION", "14"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.texts.at("cupti_unavailable"), ElementsAre(HasSubstr("version 14")));
}

TEST(Injection, AnyResultOfCuptiLeavesTheProgramAlone) {
  for (const char* error : {"1", "15", "40", "999"}) {
    const Outcome run =
        RunProgram({"init", "launch", "exit", "6"}, {{"FAKE_CUPTI_SUBSCRIBE", error}});
    EXPECT_EQ(run.status, 6);
    EXPECT_EQ(run.messages.at("cupti_unavailable"), std::atoi(error));
  }
}

TEST(Injection, ALibraryThatIsLoadedAlreadyIsTaken) {
  // The loader would find the new library.
  const std::string old = std::string(FAKE_OLD_CUPTI_FOLDER) + "/libcupti.so.11.2";
  const Outcome run = RunProgram({"load", old, "init", "launch", "3"});
  EXPECT_EQ(run.tasks.size(), 3u);
  EXPECT_THAT(run.texts.at("cupti_started"), ElementsAre(HasSubstr("libcupti.so.11.2")));
}

/// Ticks of the first kernel and of a region around its launch. The two clocks must agree.
void ExpectKernelInsideRegion(const Outcome& run) {
  ASSERT_EQ(run.tasks.size(), 1u);
  ASSERT_EQ(run.regions.size(), 1u);
  EXPECT_GE(run.tasks[0].start, run.regions[0].start);
  EXPECT_LE(run.tasks[0].end, run.regions[0].end);
  // 500 ns on CUPTI's clock.
  const double length = static_cast<double>(run.tasks[0].end - run.tasks[0].start);
  EXPECT_NEAR(length * run.ns_per_tick, 500, 5);
  EXPECT_EQ(run.messages.count("cupti_untimed_records"), 0u);
}

const std::vector<std::string> kKernelInRegion = {
    "init", "region", "FORWARD", "wait", "20", "launch", "1", "wait", "20", "endregion"};

TEST(Injection, ACuptiThatAsksNobodyForTheTimeIsAnchored) {
  ExpectKernelInsideRegion(
      RunProgram(kKernelInRegion, {{"LD_LIBRARY_PATH", FAKE_OLD_CUPTI_FOLDER}}));
}

TEST(Injection, ACuptiThatRefusesOurClockIsAnchored) {
  ExpectKernelInsideRegion(RunProgram(kKernelInRegion, {{"FAKE_CUPTI_TIMESTAMP", "27"}}));
}

// --- limits, windows, cost -----------------------------------------------------------------------

TEST(Injection, ABurstBeyondTheRingIsCountedToTheLastEvent) {
  const Outcome run =
      RunProgram({"init", "launch", "100000"}, {},
                 {.command = {}, .environment = {}, .steps = {}, .drain_at_end = true});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.unknown, 0) << "no event is cut";
  EXPECT_GT(run.dropped, 0u);
  std::int64_t messages = 0;
  for (const auto& [what, texts] : run.texts) messages += static_cast<std::int64_t>(texts.size());
  // Messages at the end had no room either. There are only a few.
  const auto all = static_cast<std::int64_t>(run.tasks.size() + run.calls.size() + run.dropped);
  EXPECT_GE(all + messages, 200000);
  EXPECT_LE(all, 200000 + 20);
}

TEST(Injection, WhatCuptiLostIsSaidWithItsContext) {
  const Outcome run = RunProgram({"init", "launch", "lose", "123"});
  EXPECT_EQ(run.messages.at("cupti_dropped_records"), 123);
}

TEST(Injection, AFatalErrorOfCuptiIsSaid) {
  const Outcome run = RunProgram({"init", "launch", "fatal"});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.texts.at("cupti_failed"), ElementsAre("the GPU fell off the bus"));
}

TEST(Injection, AStepWindowRecordsTheStepsThatTheRecorderNames) {
  std::vector<std::string> commands = {"init"};
  for (int step = 0; step < 6; ++step) {
    for (const std::string& word : {std::string("step"), std::to_string(step), std::string("wait"),
                                    std::string("60"), std::string("launch"), std::string("1"),
                                    std::string("wait"), std::string("5"), std::string("endstep")})
      commands.push_back(word);
  }
  const Outcome run = RunProgram(commands, {{"HEADROOM_STEPS", "2:3"}},
                                 {.command = {}, .environment = {}, .steps = {{2, 3}}});
  ASSERT_EQ(run.tasks.size(), 2u);
  const auto begin = static_cast<std::uint64_t>(run.fake.at("begin"));
  EXPECT_EQ(run.tasks[0].start, begin + 2200);
  EXPECT_EQ(run.tasks[1].start, begin + 3200);
}

TEST(Injection, AChildThatIsForkedHarmsNeitherItselfNorItsParent) {
  // The leak checker cannot stop the threads of a child, which has none. It may report false leaks.
  const Outcome run = RunProgram({"init", "launch", "5", "fork", "launch", "5"},
                                 {{"ASAN_OPTIONS", "detect_leaks=0"}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.tasks.size(), 10u);
  EXPECT_EQ(run.fake.at("forced_flushes"), 1) << "the parent's";
}

TEST(Injection, BuffersAreZeroAndReadyBeforeTheyAreAskedFor) {
  const Outcome run = RunProgram({"init", "launch", "20000", "wait", "450", "launch", "20000"},
                                 {{"FAKE_CUPTI_CHECK_ZERO", "1"}});
  EXPECT_EQ(run.tasks.size(), 40000u);
  EXPECT_EQ(run.fake.at("bytes_not_zero"), 0);
  EXPECT_EQ(run.fake.at("attribute_5"), 1) << "or CUPTI zeroes them again";
  EXPECT_EQ(run.fake.at("attribute_2"), 20) << "buffers on the GPU";
}

TEST(Injection, TheScratchBufferIsZeroAgain) {
  const Outcome run = RunProgram({"init", "launch", "4000", "wait", "500", "launch", "4000"},
                                 {{"HEADROOM_MEMORY_MB", "1"}, {"FAKE_CUPTI_CHECK_ZERO", "1"}});
  EXPECT_GT(run.fake.at("small_buffers"), 0);
  EXPECT_EQ(run.fake.at("bytes_not_zero"), 0);
}

TEST(Injection, ItTellsWhatItCosts) {
  const Outcome run = RunProgram({"init", "launch", "1000", "wait", "300", "launch", "1000"});
  EXPECT_GT(run.messages.at("cupti_worker_cpu_ns"), 0);
  EXPECT_LT(run.messages.at("cupti_worker_cpu_ns"), 1'000'000'000);
  EXPECT_GT(run.messages.at("cupti_handling_cpu_ns"), 0) << "of the exit's flush";
  EXPECT_EQ(run.messages.at("cupti_started"), 130001);
}

TEST(Injection, NamesOfCallsAreAskedOnce) {
  EXPECT_EQ(
      RunProgram({"init", "launch", "500", "wait", "300", "launch", "500"}).fake.at("name_lookups"),
      2);
}

TEST(Injection, NvtxIsPassedOnToCupti) {
  const Outcome run =
      RunProgram({"nvtx", "init", "range"},
                 {{"HEADROOM_LEVEL", "full"}, {"NVTX_INJECTION64_PATH", INJECTION_LIBRARY}});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.fake.at("nvtx_injections"), 1);
  EXPECT_EQ(run.ranges.size(), 1u);
}

}  // namespace
}  // namespace headroom::activity
