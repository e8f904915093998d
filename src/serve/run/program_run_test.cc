#include "serve/run/program_run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

namespace headroom {
namespace program_run_test {

using Clock = std::chrono::steady_clock;

struct Ran {
  int code = -1;
  std::string output;
};

/// Runs a shell script; stops it once it has printed `stop`.
Ran RunScript(const std::string& script, const std::string& stop = "") {
  Ran ran;
  const Result<int> code = RunToEnd(
      {.arguments = {"sh", "-c", script},
       .take = [&](std::string_view printed) { ran.output += printed; },
       .is_stopped = [&] { return !stop.empty() && ran.output.find(stop) != std::string::npos; }});
  EXPECT_TRUE(code.ok()) << code.status().message();
  if (code.ok()) ran.code = code.value();
  return ran;
}

/// Returns true if the process has exited or soon will. init reaps orphans.
bool Ends(pid_t process) {
  for (int i = 0; i < 100; ++i) {
    if (kill(process, 0) != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

TEST(ProgramRunTest, WhatItPrintsAndItsExitCode) {
  const Ran ran = RunScript("echo out; echo err >&2; exit 7");
  EXPECT_EQ(ran.code, 7);
  EXPECT_EQ(ran.output, "out\nerr\n");
}

TEST(ProgramRunTest, ItReadsNothing) {
  EXPECT_EQ(RunScript("read line || echo end").output, "end\n");
}

TEST(ProgramRunTest, WhatPrintsNothingMoreIsWaitedFor) {
  EXPECT_EQ(RunScript("exec >&- 2>&-; sleep 0.3; exit 3").code, 3);
}

TEST(ProgramRunTest, WhatCannotBeStarted) {
  const Result<int> code = RunToEnd({.arguments = {"/no/such/program"},
                                     .take = [](std::string_view) {},
                                     .is_stopped = [] { return false; }});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), StatusCode::kUsage);
}

TEST(ProgramRunTest, ItHasNoDescriptorOfOurs) {
  EXPECT_EQ(RunScript("ls /proc/self/fd | wc -l").output,
            "4\n");  // Includes the descriptor of the folder itself.
}

TEST(ProgramRunTest, WhatIsToEnd) {
  const Clock::time_point began = Clock::now();
  EXPECT_EQ(RunScript("echo ready; exec sleep 60", "ready").code, 128 + SIGTERM);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(3));
}

TEST(ProgramRunTest, WhatRefusesToEnd) {
  const Ran ran = RunScript("trap '' TERM; echo ready; while :; do sleep 1; done", "ready");
  EXPECT_EQ(ran.code, 128 + SIGKILL);
}

TEST(ProgramRunTest, WhatPrintsFasterThanItIsTaken) {
  const Clock::time_point began = Clock::now();
  const Result<int> code = RunToEnd(
      {.arguments = {"yes"},
       .take = [](auto) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); },
       .is_stopped = [&] { return Clock::now() > began + std::chrono::milliseconds(300); }});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code.value(), 128 + SIGTERM);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(3));
}

TEST(ProgramRunTest, WhoHasLeftTheGroupIsNotWaitedFor) {
  pid_t left = 0;
  const Clock::time_point began = Clock::now();
  const Result<int> code =
      RunToEnd({.arguments = {"sh", "-c", "setsid sh -c 'echo $$; exec yes' & sleep 0.3"},
                .take =
                    [&](std::string_view printed) {
                      if (left == 0) left = std::atoi(std::string(printed).c_str());
                      std::this_thread::sleep_for(std::chrono::milliseconds(5));
                    },
                .is_stopped = [] { return false; }});
  EXPECT_TRUE(code.ok());
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(3));
  ASSERT_GT(left, 0);
  kill(left, SIGKILL);
}

TEST(ProgramRunTest, WhatSavesWhenItIsToEndHasTheTime) {
  // The outer shell ends at once, the inner one 3 s later.
  const Ran ran = RunScript(
      "sh -c 'trap \"sleep 3; echo saved; exit 0\" TERM; echo ready; while :; do sleep 0.1; done' "
      "& wait",
      "ready");
  EXPECT_EQ(ran.code, 128 + SIGTERM);
  EXPECT_NE(ran.output.find("saved\n"), std::string::npos) << ran.output;
}

TEST(ProgramRunTest, WhatIsLeftIsEnded) {
  const Ran ran = RunScript("sleep 60 & echo $!");
  EXPECT_EQ(ran.code, 0);
  EXPECT_TRUE(Ends(std::atoi(ran.output.c_str())));
}

}  // namespace program_run_test
}  // namespace headroom
