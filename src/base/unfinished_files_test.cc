#include "base/unfinished_files.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace headroom {
namespace unfinished_files_test {

namespace fs = std::filesystem;

class UnfinishedFileTest : public testing::Test {
 protected:
  UnfinishedFileTest() : folder_(testing::TempDir() + "unfinished-files-test") {
    fs::create_directories(folder_);
  }
  ~UnfinishedFileTest() override { fs::remove_all(folder_); }

  std::string Make(const std::string& name) const {
    std::string path = folder_ / name;
    std::ofstream(path) << "half";
    return path;
  }

  fs::path folder_;
};

TEST_F(UnfinishedFileTest, ASignalRemovesWhatIsHeldAndEndsTheProgram) {
  const std::string held = Make("held");
  const std::string moved = Make("moved");
  const std::string finished = Make("finished");
  EXPECT_EXIT(
      {
        RemoveUnfinishedFilesAtSignals();
        const UnfinishedFile file(held);
        UnfinishedFile from(moved);
        const UnfinishedFile to(std::move(from));
        { const UnfinishedFile done(finished); }
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
  EXPECT_FALSE(fs::exists(held));
  EXPECT_FALSE(fs::exists(moved));
  EXPECT_TRUE(fs::exists(finished));
}

TEST_F(UnfinishedFileTest, AFolderGoesAfterItsFiles) {
  const std::string folder = folder_ / "held-folder";
  fs::create_directories(folder);
  const std::string inside = Make("held-folder/file");
  EXPECT_EXIT(
      {
        RemoveUnfinishedFilesAtSignals();
        const UnfinishedFile file(inside);
        const UnfinishedFile of_folder(folder);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "");
  EXPECT_FALSE(fs::exists(folder));
}

TEST_F(UnfinishedFileTest, WhatIsIgnoredStaysIgnored) {
  const std::string held = Make("held");
  EXPECT_EXIT(
      {
        std::signal(SIGHUP, SIG_IGN);
        RemoveUnfinishedFilesAtSignals();
        const UnfinishedFile file(held);
        std::raise(SIGHUP);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_TRUE(fs::exists(held));
}

TEST_F(UnfinishedFileTest, ManyMoreThanAreHeldAreNoError) {
  std::vector<UnfinishedFile> files;
  files.reserve(5000);
  for (int i = 0; i < 5000; ++i) files.emplace_back(folder_ / std::to_string(i));
  files.clear();
  const UnfinishedFile again(folder_ / "again");
}

}  // namespace unfinished_files_test
}  // namespace headroom
