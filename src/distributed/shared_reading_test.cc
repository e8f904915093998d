#include "distributed/shared_reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "distributed/test_communicator.h"

namespace headroom {
namespace shared_reading_test {

using testing::ElementsAre;
using testing::HasSubstr;

/// Fails for files whose names begin with '!'.
FileResult Read(const std::string& path, int threads) {
  FileResult result;
  if (path.front() == '!') {
    result.status = Status::BadInput(path + " is no trace");
    return result;
  }
  result.report.emplace();
  result.report->input.path = path;
  result.report->input.events = threads;
  return result;
}

TEST(SharedReadingTest, ResultsComeByFileWhoeverReadIt) {
  const std::vector<SharedFile> files = {
      {"a", true}, {"b", true}, {"!c", true}, {"d", true}, {"e", true}};
  RunProcesses(3, [&](Communicator& communicator) {
    SharedReading reading(communicator, Read);
    if (!communicator.leads()) return reading.Follow();
    const SharedResults shared = reading.Lead(files, 2);
    ASSERT_EQ(shared.files.size(), files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (i == 2) continue;
      ASSERT_TRUE(shared.files[i].status.ok());
      EXPECT_EQ(shared.files[i].report->input.path, files[i].path);
      EXPECT_EQ(shared.files[i].report->input.events, 2);
    }
    EXPECT_THAT(shared.files[2].status.message(), HasSubstr("!c is no trace"));
    ASSERT_EQ(shared.processes.size(), 3u);
    EXPECT_THAT(shared.processes[0].paths, ElementsAre("a", "d"));
    EXPECT_THAT(shared.processes[1].paths, ElementsAre("b", "e"));
    EXPECT_THAT(shared.processes[2].paths, ElementsAre("!c"));
    EXPECT_FALSE(shared.processes[2].host.empty());
    EXPECT_GT(shared.processes[2].peak_bytes, 0);
  });
}

TEST(SharedReadingTest, AFailureThatEndsAllStopsItsProcess) {
  const std::vector<SharedFile> files = {{"a"}, {"!b"}, {"c"}, {"d"}, {"e"}, {"f"}};
  RunProcesses(2, [&](Communicator& communicator) {
    SharedReading reading(communicator, Read);
    if (!communicator.leads()) return reading.Follow();
    const SharedResults shared = reading.Lead(files, 1);
    EXPECT_THAT(shared.processes[0].paths, ElementsAre("a", "c", "e"));
    EXPECT_THAT(shared.processes[1].paths, ElementsAre("!b"));
    for (const std::size_t i : {1, 3, 5})
      EXPECT_THAT(shared.files[i].status.message(), HasSubstr("!b is no trace"));
  });
}

TEST(SharedReadingTest, ALeaderThatReadsNothingLetsTheOthersGo) {
  RunProcesses(2, [&](Communicator& communicator) {
    SharedReading reading(communicator, [](const std::string&, int) {
      ADD_FAILURE();
      return FileResult();
    });
    if (!communicator.leads()) reading.Follow();
  });
}

// All threads of the test may use the same CPUs.
TEST(SharedReadingTest, ProcessorsAreShared) {
  int alone = 0, of_many = 0;
  const auto threads_of = [](int processes) {
    int threads = 0;
    RunProcesses(processes, [&](Communicator& communicator) {
      SharedReading reading(communicator, Read);
      if (!communicator.leads()) return reading.Follow();
      threads = reading.Lead({{"a"}}, 0).processes[0].threads;
    });
    return threads;
  };
  alone = threads_of(1);
  of_many = threads_of(64);
  EXPECT_GE(alone, 1);
  EXPECT_EQ(of_many, std::max(1, alone / 64));
}

}  // namespace shared_reading_test
}  // namespace headroom
