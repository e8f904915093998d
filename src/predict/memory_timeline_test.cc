#include "predict/memory_timeline.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/damage.h"

namespace headroom {
namespace memory_timeline_test {

class MemoryTimelineTest : public testing::Test {
 protected:
  Result<RecordedMemory> Read(const std::string& text) {
    const std::string path = testing::TempDir() + "timeline.raw";
    std::ofstream(path) << text;
    Result<RecordedMemory> memory = ReadMemoryTimeline(path);
    std::filesystem::remove(path);
    return memory;
  }
};

TEST_F(MemoryTimelineTest, ThePeakByWhatItIsFor) {
  // A parameter and its state exist from the start. An unknown tensor becomes an activation. A
  // temporary created and freed at the same time does not count.
  const Result<RecordedMemory> memory = Read(R"([
      [-1, 1, 100, 0], [-1, 1, 200, 1],
      [10, 2, 50, 7], [20, 3, -50, 7], [20, 3, 50, 4],
      [30, 2, 1000, 3], [30, 4, -1000, 3],
      [40, 2, 25, 5], [50, 4, -50, 4]])");
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  EXPECT_EQ(memory.value().Total(), 375);
  EXPECT_EQ(memory.value().parameters, 100);
  EXPECT_EQ(memory.value().optimizer_state, 200);
  EXPECT_EQ(memory.value().activations, 50);
  EXPECT_EQ(memory.value().gradients, 25);
  EXPECT_EQ(memory.value().unknown, 0);
}

TEST_F(MemoryTimelineTest, SaysWhatIsNoTimeline) {
  for (const char* text : {"{}", "[]", "[[1, 2, 3]]", "[[1, 1, 2.5, 0]]", "[[1, 1, 5, -1]]", "[[",
                           "[[1, 4, -5, 0]]", "[[1, 1, \"a\", 0]]"}) {
    const Result<RecordedMemory> memory = Read(text);
    ASSERT_FALSE(memory.ok()) << text;
    EXPECT_EQ(memory.status().code(), StatusCode::kBadInput);
    EXPECT_NE(memory.status().message().find("export_memory_timeline"), std::string::npos);
  }
}

RC_GTEST_PROP(MemoryTimelineProperty, ADamagedOneHasAPeakOrIsAnErrorThatNamesIt, ()) {
  const std::string text = Damaged(
      "[[-1, 1, 100, 0], [10, 2, 50, 7], [20, 3, -50, 7], [20, 3, 50, 4], [50, 4, -50, 4]]");
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("damaged-" + std::to_string(getpid()) + ".raw");
  std::ofstream(path, std::ios::binary) << text;
  const Result<RecordedMemory> memory = ReadMemoryTimeline(path.string());
  std::filesystem::remove(path);
  if (memory.ok()) {
    RC_ASSERT(std::isfinite(memory.value().Total()) && memory.value().Total() > 0);
  } else {
    RC_ASSERT(memory.status().message().find("damaged-") != std::string::npos);
  }
}

}  // namespace memory_timeline_test
}  // namespace headroom
