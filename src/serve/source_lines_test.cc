#include "serve/source_lines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/testing/folder.h"

namespace headroom {
namespace source_lines_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SourceLinesTest : public TestFolder {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "runs/one");
    fs::create_directory(folder_ / "model");
    std::ofstream file(folder_ / "model/net.py", std::ios::binary);
    for (int line = 1; line <= 50; ++line)
      file << (line == 42 ? "\tdef forward():" : fmt::format("line {}", line)) << "\r\n";
  }
  Result<std::string> Ask(const std::string& location) const {
    return SourceJson(location, Path("runs/one/trace.json"));
  }
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
  EXPECT_EQ(json["lines"][4], "        def forward():");
}

TEST_F(SourceLinesTest, AFileThatDoesNotMatch) {
  const auto why = [&](const std::string& location) { return Ask(location).status().message(); };
  EXPECT_THAT(why("other.py(1): f"), HasSubstr("not on this machine"));
  EXPECT_THAT(why("model/net.py(51): <module>"), HasSubstr("<module> is not at line 51"));
  EXPECT_THAT(why("model/net.py(40): backward"), HasSubstr("backward is not at line 40"));
  EXPECT_TRUE(Ask("model/net.py(1): <module>").ok());
  std::ofstream(folder_ / "model/binary.py", std::ios::binary) << std::string(3, '\0');
  EXPECT_THAT(why("model/binary.py(1): <module>"), HasSubstr("binary"));
  EXPECT_THAT(why("net"), HasSubstr("is not a place"));
}

TEST_F(SourceLinesTest, FilesThatAreNoPythonProgramAreNotRead) {
  std::ofstream(folder_ / "secret") << "f\n";
  ASSERT_EQ(mkfifo((folder_ / "pipe.py").c_str(), 0600), 0);
  for (const std::string& file :
       {std::string("/etc/passwd"), std::string("/proc/kmsg"), std::string("/dev/zero"),
        std::string("model"), (folder_ / "secret").string(), (folder_ / "pipe.py").string(),
        std::string("../model/net.py")})
    EXPECT_FALSE(Ask(file + "(1): <module>").ok()) << file;
}

}  // namespace source_lines_test
}  // namespace headroom
