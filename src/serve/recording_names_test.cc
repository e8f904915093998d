#include "serve/recording_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace headroom {
namespace {

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
  EXPECT_EQ(NextRecording().value(), "headroom-ui-1.pftrace");
  for (const char* name :
       {"headroom-ui-2.pftrace", "headroom-ui-10.pftrace.4711", "headroom-ui-.pftrace",
        "headroom-ui-x.pftrace", "headroom-ui--4.pftrace",
        "headroom-ui-99999999999999999999.pftrace", "headroom-ui-70.json"})
    Write(name);
  EXPECT_EQ(NextRecording().value(), "headroom-ui-11.pftrace");
}

TEST_F(RecordingNamesTest, RemovesWhatARunWroteAlone) {
  for (const char* name :
       {"headroom-ui-1.pftrace", "headroom-ui-1.pftrace.4711", "headroom-ui-1.pftrace.notes",
        "headroom-ui-1.pftraces", "headroom-ui-11.pftrace", "headroom-ui-2.pftrace"})
    Write(name);
  RemoveRecording("headroom-ui-1.pftrace");
  EXPECT_FALSE(fs::exists("headroom-ui-1.pftrace"));
  EXPECT_FALSE(fs::exists("headroom-ui-1.pftrace.4711"));
  for (const char* name : {"headroom-ui-1.pftrace.notes", "headroom-ui-1.pftraces",
                           "headroom-ui-11.pftrace", "headroom-ui-2.pftrace"})
    EXPECT_TRUE(fs::exists(name)) << name;
}

}  // namespace
}  // namespace headroom
