#include "serve/run/recording_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/private_file.h"

namespace headroom {
namespace recording_names_test {

namespace fs = std::filesystem;

/// Works in an empty folder.
class RecordingNamesTest : public testing::Test {
 protected:
  void SetUp() override {
    before_ = fs::current_path();
    std::string name = (fs::temp_directory_path() / "headroom-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  static void Write(const std::string& name) { std::ofstream(name) << "x"; }

 private:
  fs::path before_, folder_;
};

TEST_F(RecordingNamesTest, BehindTheLast) {
  EXPECT_EQ(ReservedRecording::Make().value().path(), "headroom-ui-1.pftrace");
  for (const char* name :
       {"headroom-ui-2.pftrace", "headroom-ui-10.pftrace.4711", "headroom-ui-.pftrace",
        "headroom-ui-x.pftrace", "headroom-ui--4.pftrace",
        "headroom-ui-99999999999999999999.pftrace", "headroom-ui-70.json"})
    Write(name);
  const ReservedRecording next = ReservedRecording::Make().value();
  EXPECT_EQ(next.path(), "headroom-ui-11.pftrace");
  EXPECT_TRUE(fs::exists(next.path()));
  EXPECT_TRUE(next.IsEmpty());
  Write(next.path());
  EXPECT_FALSE(next.IsEmpty());
}

TEST_F(RecordingNamesTest, WhoAsksAtOnceGetsAnotherName) {
  constexpr int kThreads = 8, kEach = 25;
  std::mutex mutex;
  std::set<std::string> names;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) {
        const std::string name = ReservedRecording::Make().value().path();
        const std::lock_guard<std::mutex> lock(mutex);
        names.insert(name);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kThreads * kEach));
}

TEST_F(RecordingNamesTest, ARecorderWritesItInPlace) {
  const ReservedRecording reserved = ReservedRecording::Make().value();
  ASSERT_TRUE(PrivateFile::Create(reserved.path(), true).value().Append("recorded").ok());
  EXPECT_FALSE(reserved.IsEmpty());
  reserved.Remove();
  EXPECT_FALSE(fs::exists(reserved.path()));
}

TEST_F(RecordingNamesTest, RemovesWhatARunWroteAlone) {
  const ReservedRecording reserved = ReservedRecording::Make().value();
  for (const char* name :
       {"headroom-ui-1.pftrace", "headroom-ui-1.pftrace.4711", "headroom-ui-1.pftrace.notes",
        "headroom-ui-1.pftraces", "headroom-ui-11.pftrace", "headroom-ui-2.pftrace"})
    Write(name);
  reserved.Remove();
  EXPECT_FALSE(fs::exists("headroom-ui-1.pftrace"));
  EXPECT_FALSE(fs::exists("headroom-ui-1.pftrace.4711"));
  for (const char* name : {"headroom-ui-1.pftrace.notes", "headroom-ui-1.pftraces",
                           "headroom-ui-11.pftrace", "headroom-ui-2.pftrace"})
    EXPECT_TRUE(fs::exists(name)) << name;
}

TEST_F(RecordingNamesTest, WhatAnotherPutInItsPlaceStays) {
  const ReservedRecording reserved = ReservedRecording::Make().value();
  Write("another");
  fs::rename("another", reserved.path());
  reserved.Remove();
  EXPECT_TRUE(fs::exists(reserved.path()));
}

}  // namespace recording_names_test
}  // namespace headroom
