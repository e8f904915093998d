// For tests: a separate folder that is removed with everything in it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace headroom {

/// A fixture whose test has an empty folder.
class TestFolder : public testing::Test {
 protected:
  TestFolder() {
    std::string name = std::filesystem::temp_directory_path() / "headroom-test-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~TestFolder() override { std::filesystem::remove_all(folder_); }

  /// Returns the path of a file in the folder.
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

}  // namespace headroom
