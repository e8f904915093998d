#include "base/private_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace headroom {
namespace private_file_test {

namespace fs = std::filesystem;

class PrivateFileTest : public testing::Test {
 protected:
  PrivateFileTest() {
    std::string name = fs::temp_directory_path() / "headroom-private-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~PrivateFileTest() override { fs::remove_all(folder_); }

  static std::string Read(const fs::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

TEST_F(PrivateFileTest, IsTheOwnersAlone) {
  const mode_t mask = umask(0);
  Result<PrivateFile> file = PrivateFile::Create(folder_ / "log", /*replace=*/false);
  umask(mask);
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(fs::status(folder_ / "log").permissions(), fs::perms(0600));
  ASSERT_TRUE(file.value().Append("one\n").ok());
  EXPECT_EQ(Read(folder_ / "log"), "one\n") << "readable at once";
  ASSERT_TRUE(file.value().Append("two\n").ok());
  EXPECT_EQ(Read(folder_ / "log"), "one\ntwo\n");
}

TEST_F(PrivateFileTest, ReplacesOnlyWhenTold) {
  std::ofstream(folder_ / "log") << "old";
  fs::permissions(folder_ / "log", fs::perms(0644));
  const Status refused = PrivateFile::Create(folder_ / "log", /*replace=*/false).status();
  EXPECT_EQ(refused.code(), StatusCode::kUsage);
  EXPECT_NE(refused.message().find("--force"), std::string::npos) << refused.message();
  EXPECT_EQ(Read(folder_ / "log"), "old");
  ASSERT_TRUE(PrivateFile::Create(folder_ / "log", /*replace=*/true).ok());
  EXPECT_EQ(Read(folder_ / "log"), "");
  EXPECT_EQ(fs::status(folder_ / "log").permissions(), fs::perms(0600));
}

TEST_F(PrivateFileTest, AnEmptyFileThatHoldsTheNameIsTaken) {
  ASSERT_TRUE(PrivateFile::Create(folder_ / "log", /*replace=*/false).ok());
  std::ifstream held(folder_ / "log");
  ASSERT_TRUE(PrivateFile::Create(folder_ / "log", /*replace=*/true).value().Append("new").ok());
  std::string text;
  std::getline(held, text);
  EXPECT_EQ(text, "new");
}

TEST_F(PrivateFileTest, NeverWritesThroughALink) {
  std::ofstream(folder_ / "target") << "mine";
  fs::create_symlink("target", folder_ / "link");
  fs::create_symlink("nowhere", folder_ / "dangling");
  EXPECT_EQ(PrivateFile::Create(folder_ / "link", false).status().code(), StatusCode::kUsage);
  EXPECT_EQ(PrivateFile::Create(folder_ / "dangling", false).status().code(), StatusCode::kUsage);
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
  Result<PrivateFile> file = PrivateFile::Create(folder_ / "link", /*replace=*/true);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file.value().Append("new").ok());
  EXPECT_EQ(Read(folder_ / "target"), "mine");
  EXPECT_FALSE(fs::is_symlink(folder_ / "link"));
}

TEST_F(PrivateFileTest, APipeThatNobodyReadsIsNotWaitedFor) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const Result<PrivateFile> alone = PrivateFile::Create(pipe, /*replace=*/true);
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.status().message().find("pipe without a reader"), std::string::npos);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  Result<PrivateFile> read = PrivateFile::Create(pipe, /*replace=*/true);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read.value().Append("one").ok());
  char text[3];
  EXPECT_EQ(::read(reader, text, 3), 3);
  close(reader);
}

TEST_F(PrivateFileTest, SaysWhatCannotBeWritten) {
  EXPECT_EQ(PrivateFile::Create(folder_, true).status().code(), StatusCode::kEnvironment);
  EXPECT_EQ(PrivateFile::Create(folder_ / "no" / "such", true).status().code(),
            StatusCode::kEnvironment);
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full on this machine";
  Result<PrivateFile> full = PrivateFile::Create("/dev/full", false);
  ASSERT_TRUE(full.ok()) << "devices are written to, not replaced";
  EXPECT_NE(full.value().Append("x").message().find("/dev/full"), std::string::npos);
}

}  // namespace private_file_test
}  // namespace headroom
