#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cli/commands/report_command.h"
#include "cli/inputs/resource_log.h"
#include "cli/inputs/step_range.h"
#include "cli/machine/counter_check.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"

namespace headroom::cli {
namespace cli_test {

namespace fs = std::filesystem;

TEST(ParseStepRange, TakesTwoNumbersOrOne) {
  const struct {
    const char* text;
    std::optional<std::int64_t> first, last;
  } kCases[] = {{"3:5", 3, 5},
                {"3:3", 3, 3},
                {"3:", 3, std::nullopt},
                {":5", std::nullopt, 5},
                {"0:0", 0, 0}};
  for (const auto& c : kCases) {
    const Result<StepRange> range = ParseStepRange(c.text);
    ASSERT_TRUE(range.ok()) << c.text;
    EXPECT_EQ(range.value().first, c.first) << c.text;
    EXPECT_EQ(range.value().last, c.last) << c.text;
  }
  for (const char* text :
       {"", ":", "3", "5:3", "a:b", "1:2:3", "-1:2", "1: 2", "1:2x", "99999999999999999999:"}) {
    const Result<StepRange> range = ParseStepRange(text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_EQ(range.status().code(), StatusCode::kUsage);
  }
}

TEST(CounterCheck, NamesTheFixOfWhatIsRefused) {
  const struct {
    const char* name;
    CounterAnswers answers;
    CheckState state;
    const char* finding;
    const char* fix;
  } kCases[] = {
      {"a machine of one's own, as root",
       {.paranoid = 2, .may_perfmon = true},
       CheckState::kOk,
       "the kernel's too",
       ""},
      {"the usual setting",
       {.paranoid = 2, .kernel_error = EACCES},
       CheckState::kLimited,
       "perf_event_paranoid is 2",
       "sysctl kernel.perf_event_paranoid=1"},
      {"Debian's strict setting",
       {.paranoid = 3, .software_error = EACCES, .program_error = EACCES, .kernel_error = EACCES},
       CheckState::kLimited,
       "is refused",
       "sysctl kernel.perf_event_paranoid=2"},
      {"a container's seccomp, whatever the setting",
       {.paranoid = 1, .software_error = EPERM, .program_error = EPERM, .kernel_error = EPERM},
       CheckState::kLimited,
       "is refused",
       "seccomp"},
      {"a virtual machine without a PMU",
       {.paranoid = 2, .program_error = ENOENT, .kernel_error = ENOENT},
       CheckState::kLimited,
       "only those of the kernel",
       "pmu=on"},
      {"a sandbox",
       {.software_error = ENOSYS, .program_error = ENOSYS, .kernel_error = ENOSYS},
       CheckState::kLimited,
       "has no perf_event_open",
       "CONFIG_PERF_EVENTS"},
      {"the watchdog has the counter",
       {.paranoid = 0, .program_error = EBUSY, .kernel_error = EBUSY},
       CheckState::kLimited,
       "busy",
       "watchdog"},
  };
  for (const auto& c : kCases) {
    const MachineCheck check = CounterCheck(c.answers);
    EXPECT_EQ(check.state, c.state) << c.name;
    EXPECT_NE(check.finding.find(c.finding), std::string::npos) << c.name << ": " << check.finding;
    EXPECT_NE(check.fix.find(c.fix), std::string::npos) << c.name << ": " << check.fix;
    EXPECT_EQ(check.fix.empty(), *c.fix == 0) << c.name;
    EXPECT_EQ(check.matters.empty(), c.state == CheckState::kOk) << c.name;
  }
}

TEST(ProgressLine, FitsATerminal) {
  EXPECT_EQ(ProgressLine("reading x.json", 25, 100, 2),
            "reading x.json  [#####...............]  25 %  6 s left");
  EXPECT_EQ(ProgressLine("reading x.json", 0, 100, 2),
            "reading x.json  [....................]   0 %");
  EXPECT_EQ(ProgressLine("reading x.json", 2'500'000, 0, 2), "reading x.json  2.50 MB");
  EXPECT_LT(ProgressLine("reading " + std::string(300, 'x'), 99, 1'000, 1e5).size(), 100u);
  EXPECT_NE(ProgressLine("x", 200, 100, 2).find("100 %"), std::string::npos)
      << "more than all is all";
}

TEST(ResourceLog, HasOneLineAFigure) {
  ResourceLog log;
  log.Enter("read");
  log.Enter("analyze");
  log.Enter("read");
  log.AddStore(200, 11'000);
  log.AddStore(0, 64);
  const std::string text = log.Text();
  EXPECT_EQ(text.find("time: read "), 0u);
  EXPECT_EQ(text.find("time: read ", 1), std::string::npos) << "a stage entered again goes on";
  EXPECT_LT(text.find("time: analyze "), text.find("time: total "));
  EXPECT_NE(text.find("memory: peak "), std::string::npos);
  EXPECT_NE(text.find("store: 200 events, 11000 bytes (55.0 bytes/event)\n"), std::string::npos);
  EXPECT_NE(text.find("store: 0 events, 64 bytes\n"), std::string::npos);
}

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

}  // namespace cli_test
}  // namespace headroom::cli
