// Tests the recorder with real processes and real timers. tests/recording/ checks the contents of
// the files, because tests there may include the reader.
#include "capture/recorder.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "headroom/timer.h"

namespace headroom {
namespace recorder_test {

namespace fs = std::filesystem;

class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    // If another thread holds the lock of the sanitizer's allocator at the fork, the lock stays
    // held in the child.
    GTEST_SKIP() << "GCC 12's sanitizers cannot fork while threads run";
#endif
    folder_ = fs::path(testing::TempDir()) / ("recorder_test." + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override {
    unsetenv("HEADROOM_SOCKET");
    fs::remove_all(folder_);
  }

  std::unique_ptr<Recorder> Start(RecorderOptions options = {}) {
    options.path = (folder_ / "r").string();
    Result<std::unique_ptr<Recorder>> recorder = Recorder::Start(std::move(options));
    EXPECT_TRUE(recorder.ok()) << recorder.status().message();
    setenv("HEADROOM_SOCKET", recorder.value()->socket_path().c_str(), 1);
    return std::move(recorder).value();
  }

  /// Runs `work` in a separate process. Returns the process's pid after its end.
  static pid_t InProcess(const std::function<void()>& work) {
    const pid_t pid = fork();
    if (pid == 0) {
      work();
      _exit(0);
    }
    waitpid(pid, nullptr, 0);
    return pid;
  }

  fs::path folder_;
};

TEST_F(RecorderTest, FileIsThereFromTheStart) {
  const auto recorder = Start();
  EXPECT_GT(fs::file_size(folder_ / "r"), 0u);
}

TEST_F(RecorderTest, TakesWhatAProcessWroteThoughItWasKilled) {
  const auto recorder = Start();
  const pid_t pid = InProcess([] {
    for (int i = 0; i < 1000; ++i) headroom_end(HEADROOM_BEGIN("FORWARD"));
    headroom_begin("open at the end");
    kill(getpid(), SIGKILL);
  });
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].pid, pid);
  EXPECT_EQ(processes[0].events, 1001);
  EXPECT_EQ(processes[0].drops, 0u);
  EXPECT_EQ(processes[0].trouble, "");
}

TEST_F(RecorderTest, AFileForEachProcessThatTellsAnything) {
  const auto recorder = Start();
  const auto region = [] { headroom_end(HEADROOM_BEGIN("IO")); };
  const pid_t first = InProcess(region);
  InProcess([] {});
  const pid_t second = InProcess(region);
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].pid, first);
  EXPECT_EQ(processes[0].path, (folder_ / "r").string());
  EXPECT_EQ(processes[1].pid, second);
  EXPECT_EQ(processes[1].path, (folder_ / ("r." + std::to_string(second))).string());
  EXPECT_GT(fs::file_size(processes[1].path), 0u);
}

TEST_F(RecorderTest, AForkedChildTellsOfItself) {
  const auto recorder = Start();
  InProcess([] {
    headroom_token outer = headroom_begin("parent");
    InProcess([&] {
      headroom_end(outer);  // The child does not own the region, so nothing happens.
      headroom_end(HEADROOM_BEGIN("child"));
    });
    headroom_end(outer);
  });
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].events + processes[1].events, 2);
}

TEST_F(RecorderTest, HelpersShareTheFileOfWhomTheyWorkFor) {
  const auto recorder = Start();
  const auto region = [] { headroom_end(HEADROOM_BEGIN("IO")); };
  InProcess([&] {
    const headroom_token outer = headroom_begin("parent");
    for (int i = 0; i < 3; ++i) {
      InProcess([&] {
        headroom_helper();
        region();
        InProcess(region);  // A helper's child is also a helper.
      });
    }
    InProcess(region);  // This one is not a helper.
    headroom_end(outer);
  });
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 2u);
  EXPECT_EQ(processes[0].events, 1 + 3 * 2);
  EXPECT_EQ(processes[1].events, 1);
}

/// Counts the rings of other processes that this process has mapped.
std::size_t MappedRings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find("headroom") != line.npos && line.find("memfd:") != line.npos;
  return count;
}

// A job may start thousands of processes.
TEST_F(RecorderTest, LetsGoOfProcessesThatAreGone) {
  const auto recorder = Start();
  const auto region = [] { headroom_end(HEADROOM_BEGIN("IO")); };
  for (int i = 0; i < 3; ++i) InProcess(region);
  const auto within = [](const std::function<bool()>& holds) {
    for (int hundredths = 0; hundredths < 1000 && !holds(); ++hundredths) usleep(10'000);
    return holds();
  };
  EXPECT_TRUE(within([] { return MappedRings() > 0; }));
  EXPECT_TRUE(within([] { return MappedRings() == 0; }));
  EXPECT_EQ(recorder->Stop().size(), 3u);
}

TEST_F(RecorderTest, AHelperMayOutliveItsParent) {
  const auto recorder = Start();
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  InProcess([&] {
    headroom_end(HEADROOM_BEGIN("parent"));
    if (fork() != 0) {
      usleep(200'000);
      return;
    }
    headroom_helper();
    headroom_end(HEADROOM_BEGIN("early"));
    usleep(1'500'000);  // Waits until the recorder has seen the parent's exit.
    headroom_end(HEADROOM_BEGIN("late"));
    _exit(write(pipe_ends[1], "", 1) == 1 ? 0 : 1);
  });
  char byte = 0;
  ASSERT_EQ(read(pipe_ends[0], &byte, 1), 1);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].events, 3);
}

TEST_F(RecorderTest, OnlyTheStepsThatAreWanted) {
  const auto recorder = Start({.steps = RecordedSteps{.first = 3, .last = 4}});
  InProcess([] {
    for (int step = 0; step < 10; ++step) {
      const headroom_token whole = headroom_begin_step(step);
      headroom_end(HEADROOM_BEGIN("FORWARD"));
      headroom_end(whole);
    }
  });
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].events, 2 * 2);
}

// After the last batch of an epoch, an empty step begins. The next step has the same number.
TEST_F(RecorderTest, AnEmptyStepDoesNotEndTheWindow) {
  const auto recorder = Start({.steps = RecordedSteps{.first = 1, .last = 1}});
  InProcess([] {
    const auto step = [](std::int64_t number, bool empty) {
      const headroom_token whole = headroom_begin_step(number);
      headroom_end(HEADROOM_BEGIN("FORWARD"));
      if (empty) headroom_mark("step.empty");
      headroom_end(whole);
    };
    step(0, false);
    step(1, true);
    step(1, false);
    step(2, false);
  });
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].events, 2 * 2 + 1);
  EXPECT_FALSE(processes[0].missed_steps);
}

TEST_F(RecorderTest, StopsAtTheLimitOfTheFile) {
  const auto recorder = Start({.limits = {.file_bytes = 20'000, .pending_bytes = 1 << 20}});
  InProcess([] {
    for (int i = 0; i < 10'000; ++i) headroom_end(HEADROOM_BEGIN("FORWARD"));
  });
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_LE(fs::file_size(folder_ / "r"), 20'000u);
  EXPECT_GT(processes[0].lost_bytes, 0);
}

// A peer that is not a timer must neither stop nor crash the recorder.
TEST_F(RecorderTest, StrangersOnTheSocketAreSentAway) {
  const auto recorder = Start();
  const auto connect_and_send = [&](std::string_view bytes) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, recorder->socket_path().c_str());
    const int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(connect(s, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    // The recorder may close the connection before all is sent.
    (void)send(s, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    close(s);
  };
  connect_and_send("");
  connect_and_send("hello");
  connect_and_send(std::string(100'000, 'x'));
  InProcess([] { headroom_end(HEADROOM_BEGIN("IO")); });
  const std::vector<RecordedProcess> processes = recorder->Stop();
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].events, 1);
}

TEST_F(RecorderTest, LeavesNothingBehindButTheFiles) {
  std::string socket;
  {
    const auto recorder = Start();
    socket = recorder->socket_path();
    EXPECT_TRUE(fs::exists(socket));
  }
  EXPECT_FALSE(fs::exists(fs::path(socket).parent_path()));
}

}  // namespace recorder_test
}  // namespace headroom
