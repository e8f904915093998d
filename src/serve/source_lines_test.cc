#include "serve/source_lines.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

namespace headroom {
namespace source_lines_test {

namespace fs = std::filesystem;

class SourceLinesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "headroom-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::create_directories(folder_ / "runs/one");
    fs::create_directory(folder_ / "model");
    std::ofstream file(folder_ / "model/net.py", std::ios::binary);
    for (int line = 1; line <= 50; ++line) file << "line " << line << "\r\n";
  }
  void TearDown() override { fs::remove_all(folder_); }
  Result<std::string> Ask(const std::string& location) const {
    return SourceJson(location, (folder_ / "runs/one/trace.json").string());
  }

  fs::path folder_;
};

TEST_F(SourceLinesTest, PlacesAreParsed) {
  EXPECT_EQ(ParseLocation("a b/net.py(7): forward")->file, "a b/net.py");
  EXPECT_EQ(ParseLocation("a(1).py(42): <module>")->line, 42);
  for (const char* text : {"", "net.py", "net.py: f", "net.py(x): f", "net.py(0): f", "(3): f",
                           "net.py(99999999999999999999): f"})
    EXPECT_FALSE(ParseLocation(text)) << text;
}

TEST_F(SourceLinesTest, TheLinesOfAFunction) {
  const Result<std::string> answer = Ask("model/net.py(40): forward");
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const auto json = nlohmann::json::parse(answer.value());
  EXPECT_EQ(json["path"], (folder_ / "model/net.py").string());
  EXPECT_EQ(json["line"], 40);
  EXPECT_EQ(json["first_line"], 38);
  ASSERT_EQ(json["lines"].size(), 13u);
  EXPECT_EQ(json["lines"][2], "line 40");
}

TEST_F(SourceLinesTest, AFileThatIsNotTheOne) {
  EXPECT_NE(Ask("other.py(1): f").status().message().find("not on this machine"),
            std::string::npos);
  EXPECT_NE(Ask("model/net.py(51): f").status().message().find("no line 51"), std::string::npos);
  EXPECT_FALSE(Ask("/dev/zero(1): f").ok());
  EXPECT_FALSE(Ask("model(1): f").ok());
  EXPECT_FALSE(Ask("net").ok());
  std::ofstream(folder_ / "model/net.pyc", std::ios::binary) << std::string(3, '\0');
  EXPECT_FALSE(Ask("model/net.pyc(1): f").ok());
}

}  // namespace source_lines_test
}  // namespace headroom
