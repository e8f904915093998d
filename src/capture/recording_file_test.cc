#include "capture/recording_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace headroom {
namespace recording_file_test {

namespace fs = std::filesystem;

constexpr RecordingFile::Limits kWide{.file_bytes = 1 << 20, .pending_bytes = 1 << 20};

/// Returns a packet of `size` + 2 bytes. Requires a size below 128.
std::string Packet(char fill, int size) {
  return std::string(1, '\x0a') + static_cast<char>(size) + std::string(size, fill);
}

class RecordingFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("recording_file_test." + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const char* name) const { return (folder_ / name).string(); }
  static std::string Content(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

TEST_F(RecordingFileTest, IsItsOwnersAlone) {
  const auto file = RecordingFile::Create(Path("a"), false, kWide);
  ASSERT_TRUE(file.ok());
  struct stat status {};
  ASSERT_EQ(stat(Path("a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RecordingFileTest, RefusesWhatIsThereUnlessTold) {
  std::ofstream(Path("a")) << "old";
  const auto refused = RecordingFile::Create(Path("a"), false, kWide);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kUsage);
  EXPECT_NE(refused.status().message().find("--force"), std::string::npos);
  EXPECT_EQ(Content(Path("a")), "old");
  ASSERT_TRUE(RecordingFile::Create(Path("a"), true, kWide).ok());
  EXPECT_EQ(Content(Path("a")), "");
}

TEST_F(RecordingFileTest, FollowsNoLink) {
  std::ofstream(Path("target")) << "precious";
  fs::create_symlink(Path("target"), Path("link"));
  EXPECT_FALSE(RecordingFile::Create(Path("link"), false, kWide).ok());
  ASSERT_TRUE(RecordingFile::Create(Path("link"), true, kWide).ok());
  EXPECT_FALSE(fs::is_symlink(Path("link")));
  EXPECT_EQ(Content(Path("target")), "precious");
}

TEST_F(RecordingFileTest, ReplacingLeavesOtherNamesOfTheFileAlone) {
  std::ofstream(Path("a")) << "old";
  fs::create_hard_link(Path("a"), Path("b"));
  ASSERT_TRUE(RecordingFile::Create(Path("a"), true, kWide).ok());
  EXPECT_EQ(Content(Path("b")), "old");
}

TEST_F(RecordingFileTest, NoFolder) {
  const auto file = RecordingFile::Create(Path("no/such/a"), false, kWide);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kEnvironment);
}

TEST_F(RecordingFileTest, WritesInOrder) {
  auto file = RecordingFile::Create(Path("a"), false, kWide);
  ASSERT_TRUE(file.ok());
  file.value().Append("one ");
  file.value().Append("two ");
  EXPECT_EQ(Content(Path("a")), "");
  file.value().Flush();
  file.value().Append("three");
  file.value().Flush();
  EXPECT_EQ(Content(Path("a")), "one two three");
  EXPECT_EQ(file.value().bytes(), 13);
}

TEST_F(RecordingFileTest, StopsForGoodAtItsLimit) {
  auto file = RecordingFile::Create(Path("a"), false, {.file_bytes = 20, .pending_bytes = 1 << 20});
  ASSERT_TRUE(file.ok());
  file.value().Append(Packet('a', 8));
  file.value().Append(Packet('b', 5) + Packet('c', 5));
  file.value().Append(Packet('d', 0));  // It would fit, but may depend on a refused packet.
  file.value().Flush();
  EXPECT_EQ(Content(Path("a")), Packet('a', 8) + Packet('b', 5));
  EXPECT_TRUE(file.value().full());
  EXPECT_EQ(file.value().lost_bytes(), 7 + 2);
}

// Simulates a full disk with a file size limit. Packets that fit are written, no incomplete packet
// stays in the file, and no packet is lost once there is room.
TEST_F(RecordingFileTest, AFullDiskTakesWhatFitsTearsNothingAndLosesNothing) {
  auto file = RecordingFile::Create(Path("a"), false, kWide);
  ASSERT_TRUE(file.ok());
  const std::string first = Packet('a', 98) + Packet('b', 98);
  file.value().Append(first);
  file.value().Flush();

  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 450, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string second = Packet('c', 98) + Packet('d', 98);
  const std::string third = Packet('e', 98) + Packet('f', 98);
  file.value().Append(second + third);
  file.value().Flush();
  const std::string trouble = file.value().trouble();
  const std::string meanwhile = Content(Path("a"));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);

  EXPECT_EQ(meanwhile, first + second);
  EXPECT_NE(trouble, "");
  EXPECT_EQ(file.value().pending_bytes(), 200);
  file.value().Flush();
  EXPECT_EQ(Content(Path("a")), first + second + third);
  EXPECT_EQ(file.value().trouble(), "");
}

}  // namespace recording_file_test
}  // namespace headroom
