#include "serve/run/repeated_run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>

namespace headroom {
namespace repeated_run_test {

using Phase = RepeatedRun::Phase;

/// A program that runs until it is released or stopped.
struct Program {
  std::atomic<bool> ends = false;
  std::atomic<int> removed = 0, shown = 0;
  Result<int> code = 0;
  Status show = Status::Ok();

  RepeatedRun::Work Work() {
    return {.name = [] { return Result<std::string>("recording"); },
            .record =
                [this](const std::string&, const auto& take, const auto& is_stopped) {
                  take("first\nlast");
                  while (!ends && !is_stopped()) std::this_thread::yield();
                  return code;
                },
            .show = [this](const std::string&) { return ++shown, show; },
            .remove = [this](const std::string&) { ++removed; }};
  }
};

void AwaitEnd(const RepeatedRun& run) {
  while (run.Now().phase != Phase::kIdle) std::this_thread::yield();
}

TEST(RepeatedRunTest, OneAtATime) {
  Program program;
  RepeatedRun run("train", program.Work());
  EXPECT_EQ(run.Now().phase, Phase::kIdle);
  EXPECT_EQ(run.Now().ended, 0);
  EXPECT_FALSE(run.Stop());
  EXPECT_TRUE(run.Begin());
  EXPECT_FALSE(run.Begin());
  program.ends = true;
  AwaitEnd(run);
  const RepeatedRun::State state = run.Now();
  EXPECT_EQ(state.ended, 1);
  EXPECT_TRUE(state.shown.ok());
  EXPECT_EQ(state.path, "recording");
  EXPECT_EQ(state.exit_code, 0);
  EXPECT_EQ(state.lines, (std::vector<std::string>{"first", "last"}));
  EXPECT_TRUE(run.Begin());
  AwaitEnd(run);
  EXPECT_EQ(run.Now().ended, 2);
  EXPECT_EQ(program.shown, 2);
  EXPECT_EQ(program.removed, 0);
}

TEST(RepeatedRunTest, WhatIsStoppedIsShown) {
  Program program;
  program.code = 143;
  RepeatedRun run("train", program.Work());
  run.Begin();
  EXPECT_TRUE(run.Stop());
  AwaitEnd(run);
  EXPECT_TRUE(run.Now().was_stopped);
  EXPECT_EQ(run.Now().exit_code, 143);
  EXPECT_EQ(program.shown, 1);
  EXPECT_FALSE(run.Stop());
}

TEST(RepeatedRunTest, WhyNothingIsShown) {
  Program program;
  program.ends = true;
  program.code = 1;
  program.show = Status::BadInput("cannot read it");
  RepeatedRun run("train", program.Work());
  run.Begin();
  AwaitEnd(run);
  EXPECT_EQ(run.Now().shown.message(), "cannot read it");
  EXPECT_EQ(run.Now().path, "recording");
  EXPECT_EQ(program.removed, 0);  // Kept, because the user may inspect it.

  program.show = Status::NoAnswer("nothing in it");
  run.Begin();
  AwaitEnd(run);
  EXPECT_EQ(run.Now().path, "");
  EXPECT_EQ(program.removed, 1);

  program.code = Status::Environment("cannot be started");
  run.Begin();
  AwaitEnd(run);
  EXPECT_EQ(run.Now().shown.message(), "cannot be started");
  EXPECT_EQ(run.Now().exit_code, std::nullopt);
  EXPECT_EQ(program.removed, 2);

  program.code = 0;
  program.show = Status::Ok();
  run.Begin();
  AwaitEnd(run);
  EXPECT_TRUE(run.Now().shown.ok());
}

TEST(RepeatedRunTest, WhereNothingCanBeWritten) {
  RepeatedRun::Work work = Program().Work();
  work.name = [] { return Result<std::string>(Status::Environment("read-only")); };
  RepeatedRun run("train", work);
  run.Begin();
  AwaitEnd(run);
  EXPECT_EQ(run.Now().shown.message(), "read-only");
}

TEST(RepeatedRunTest, WhatIsThrownIsTold) {
  Program program;
  program.ends = true;
  RepeatedRun::Work work = program.Work();
  work.show = [](const std::string&) -> Status { throw std::bad_alloc(); };
  RepeatedRun run("train", work);
  run.Begin();
  AwaitEnd(run);
  EXPECT_EQ(run.Now().shown.code(), StatusCode::kEnvironment);
  EXPECT_EQ(run.Now().ended, 1);
  EXPECT_TRUE(run.Begin());
  AwaitEnd(run);
}

TEST(RepeatedRunTest, WhoGoesAwayLeavesNothing) {
  Program program;
  {
    RepeatedRun run("train", program.Work());
    run.Begin();
  }
  EXPECT_EQ(program.shown, 0);
  EXPECT_EQ(program.removed, 1);
}

}  // namespace repeated_run_test
}  // namespace headroom
