#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace headroom {
namespace atomic_file_test {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() {
    std::string name = fs::temp_directory_path() / "headroom-atomic-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  static std::string Read(const fs::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::size_t Entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(AtomicFileTest, AppearsOnlyWithCommit) {
  const std::string path = folder_ / "out";
  {
    Result<AtomicFile> file = AtomicFile::Write(path, "text");
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_FALSE(fs::exists(path));
    EXPECT_TRUE(file.value().Commit().ok());
  }
  EXPECT_EQ(Read(path), "text");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(AtomicFileTest, LeavesNothingBehindWithoutCommit) {
  const std::string path = folder_ / "out";
  std::ofstream(path) << "old";
  EXPECT_TRUE(AtomicFile::Write(path, "new").ok());
  EXPECT_EQ(Read(path), "old");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(AtomicFileTest, LeavesNothingBehindWhenASignalComes) {
  // The signal comes at varying moments, including directly after the file's creation.
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      RemoveUnfinishedFilesAtSignals();
      while (AtomicFile::Create(folder_ / "out").ok()) continue;
      _exit(1);
    }
    int ended = 0;
    while (Entries() == 0) ASSERT_EQ(waitpid(child, &ended, WNOHANG), 0) << "it made no file";
    kill(child, SIGINT);
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    EXPECT_TRUE(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGINT) << ended;
    ASSERT_EQ(Entries(), 0u) << "in round " << i;
  }
}

TEST_F(AtomicFileTest, KeepsPermissionsAndLinks) {
  const fs::path target = folder_ / "target";
  std::ofstream(target) << "old";
  fs::permissions(target, fs::perms(0640));
  fs::create_symlink("target", folder_ / "link");
  Result<AtomicFile> file = AtomicFile::Write(folder_ / "link", "new");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file.value().Commit().ok());
  EXPECT_EQ(Read(target), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(fs::status(target).permissions(), fs::perms(0640));
}

TEST_F(AtomicFileTest, SaysWhatCannotBeWritten) {
  const Status folder = AtomicFile::Write(folder_, "x").status();
  EXPECT_EQ(folder.code(), StatusCode::kEnvironment);
  EXPECT_NE(folder.message().find("directory"), std::string::npos) << folder.message();
  const Status missing = AtomicFile::Write(folder_ / "no" / "such", "x").status();
  EXPECT_EQ(missing.code(), StatusCode::kEnvironment);
  EXPECT_NE(missing.message().find("No such file"), std::string::npos) << missing.message();
}

TEST_F(AtomicFileTest, WritesDevicesInPlaceAndReportsAFullOne) {
  if (!fs::is_character_file("/dev/full")) GTEST_SKIP() << "no /dev/full on this machine";
  Result<AtomicFile> null = AtomicFile::Write("/dev/null", "x");
  ASSERT_TRUE(null.ok());
  EXPECT_TRUE(null.value().Commit().ok());
  Result<AtomicFile> full = AtomicFile::Write("/dev/full", "x");
  ASSERT_TRUE(full.ok());
  EXPECT_NE(full.value().Commit().message().find("No space"), std::string::npos);
}

}  // namespace atomic_file_test
}  // namespace headroom
