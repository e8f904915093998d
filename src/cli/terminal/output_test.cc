#include "cli/terminal/output.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace headroom::cli {
namespace output_test {

namespace fs = std::filesystem;

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string name = fs::temp_directory_path() / "headroom-cli-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~FolderTest() override { fs::remove_all(folder_); }
  std::size_t Entries(const fs::path& folder) const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(FolderTest, IsMadeAndFilled) {
  const fs::path out = folder_ / "out";
  ASSERT_TRUE(WriteFolder(out, {{"a.csv", "1"}, {"b.csv", "2"}}).ok());
  EXPECT_EQ(Entries(out), 2u);
  ASSERT_TRUE(WriteFolder(out, {{"a.csv", "3"}}).ok()) << "again, over the old files";
  EXPECT_EQ(Entries(out), 2u);
}

TEST_F(FolderTest, HoldsAllFilesOrNone) {
  fs::create_directories(folder_ / "out" / "b.csv");
  const Status status = WriteFolder(folder_ / "out", {{"a.csv", "1"}, {"b.csv", "2"}});
  EXPECT_EQ(status.code(), StatusCode::kEnvironment);
  EXPECT_FALSE(fs::exists(folder_ / "out" / "a.csv"));
  EXPECT_EQ(Entries(folder_ / "out"), 1u);

  std::ofstream(folder_ / "file") << "x";
  EXPECT_EQ(WriteFolder(folder_ / "file", {{"a.csv", "1"}}).code(), StatusCode::kEnvironment);
  EXPECT_EQ(WriteFolder(folder_ / "no" / "such", {{"a.csv", "1"}}).code(),
            StatusCode::kEnvironment);
}

TEST(Environment, LocaleDecidesTheCharset) {
  const struct {
    const char *all, *ctype, *lang;
    Charset charset;
  } kCases[] = {
      {"C", "en_US.UTF-8", "en_US.UTF-8", Charset::kAscii},
      {"", "en_US.utf8", "C", Charset::kUtf8},
      {"", "", "C.UTF-8", Charset::kUtf8},
      {"", "", "de_DE.ISO-8859-1", Charset::kAscii},
      {"", "", "", Charset::kAscii},
  };
  for (const auto& c : kCases) {
    setenv("LC_ALL", c.all, 1);
    setenv("LC_CTYPE", c.ctype, 1);
    setenv("LANG", c.lang, 1);
    EXPECT_EQ(CharsetOfEnvironment(), c.charset) << c.all << " " << c.ctype << " " << c.lang;
  }
}

TEST(Environment, ColourOnlyWhereAskedOrOnATerminal) {
  EXPECT_TRUE(UseColor(ColorMode::kAlways, "file"));
  EXPECT_FALSE(UseColor(ColorMode::kNever, ""));
  setenv("TERM", "xterm", 1);
  EXPECT_FALSE(UseColor(ColorMode::kAuto, "file"));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(UseColor(ColorMode::kAuto, ""));
}

}  // namespace output_test
}  // namespace headroom::cli
