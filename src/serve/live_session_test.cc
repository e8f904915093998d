#include "serve/live_session.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace headroom {
namespace live_session_test {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr const char* kTrace = R"({"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 10},
  {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]})";
constexpr const char* kOther = R"({"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "aten::other", "pid": 1, "tid": 1, "ts": 1, "dur": 5}]})";

/// A folder with a trace, and a session that counts how often it was opened.
class LiveSessionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "headroom-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    Write("trace.json", kTrace);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }

  Result<std::unique_ptr<JobSession>> Open(const std::vector<std::string>& files) {
    ++opened_;
    TraceSession::Options options;
    options.calibration.no_local_state = true;
    options.analysis.path = files.front();
    Result<std::unique_ptr<TraceSession>> trace = TraceSession::Open(options);
    if (!trace.ok()) return trace.status();
    return std::make_unique<JobSession>(std::move(trace).value());
  }
  /// Also lists rank*.json, so that tests can add files that only the watch sees.
  std::vector<std::string> List(std::vector<std::string> files) const {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("rank"))
        files.push_back(entry.path().string());
    }
    return files;
  }
  std::unique_ptr<LiveSession> Start() {
    const std::vector<std::string> files = {Path("trace.json")};
    LiveSession::Stamps read = LiveSession::StampsOf(List(files));
    Result<std::unique_ptr<JobSession>> first = Open(files);
    EXPECT_TRUE(first.ok()) << first.status().message();
    return std::make_unique<LiveSession>(
        files, std::move(read), std::move(first).value(),
        LiveSession::FileReader{
            .open = [this](const std::vector<std::string>& changed) { return Open(changed); },
            .list = [this](const std::vector<std::string>& named) { return List(named); }});
  }

  /// Returns the state once the condition holds, or after a timeout.
  template <typename Holds>
  static LiveSession::State Await(const LiveSession& live, const Holds& holds) {
    const Clock::time_point until = Clock::now() + std::chrono::seconds(20);
    while (!holds(live.Now()) && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return live.Now();
  }
  static LiveSession::State AwaitGeneration(const LiveSession& live, std::int64_t generation) {
    LiveSession::State state =
        Await(live, [&](const LiveSession::State& now) { return now.generation >= generation; });
    EXPECT_EQ(state.generation, generation);
    return state;
  }
  static bool Tells(const LiveSession::State& state, const char* name) {
    return state.session->ReportJson().value().find(name) != std::string::npos;
  }

  std::atomic<int> opened_ = 0;

 private:
  fs::path folder_;
};

TEST_F(LiveSessionTest, AChangedFileIsReadAgain) {
  const std::unique_ptr<LiveSession> live = Start();
  const LiveSession::State before = live->Now();
  EXPECT_EQ(before.generation, 0);
  EXPECT_TRUE(Tells(before, "aten::mm"));
  Write("trace.json", kOther);
  EXPECT_TRUE(Tells(AwaitGeneration(*live, 1), "aten::other"));
  EXPECT_TRUE(Tells(before, "aten::mm"));  // `before` keeps the old session.
  EXPECT_EQ(opened_, 2);
}

TEST_F(LiveSessionTest, AFileThatIsPutInItsPlace) {
  const std::unique_ptr<LiveSession> live = Start();
  // The new file has the size and time of the old one.
  std::string text = kTrace;
  text.replace(text.find("aten::mm"), 8, "aten::xy");
  Write("new", text);
  fs::last_write_time(Path("new"), fs::last_write_time(Path("trace.json")));
  fs::rename(Path("new"), Path("trace.json"));
  EXPECT_TRUE(Tells(AwaitGeneration(*live, 1), "aten::xy"));
}

TEST_F(LiveSessionTest, AFileThatStillGrowsIsWaitedFor) {
  const std::unique_ptr<LiveSession> live = Start();
  std::ofstream file(Path("trace.json"), std::ios::binary);
  const std::string text = kOther;
  constexpr int kPieces = 10;
  const std::size_t piece = text.size() / kPieces;
  Clock::time_point written = Clock::now();
  for (int i = 0; i < kPieces; ++i) {
    file << text.substr(static_cast<std::size_t>(i) * piece, piece) << std::flush;
    const Clock::time_point before = std::exchange(written, Clock::now());
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const LiveSession::State now = live->Now();
    // If this thread was delayed for longer than this, the file looked complete.
    constexpr std::chrono::milliseconds kMax(400);
    if (written - before > kMax || Clock::now() - written > kMax)
      GTEST_SKIP() << "the machine is too busy for this test";
    EXPECT_EQ(now.generation, 0);
    EXPECT_EQ(now.problem, "");
  }
  file << text.substr(kPieces * piece);
  file.close();
  EXPECT_TRUE(Tells(AwaitGeneration(*live, 1), "aten::other"));
}

TEST_F(LiveSessionTest, ABrokenFileLeavesWhatWasRead) {
  const std::unique_ptr<LiveSession> live = Start();
  Write("trace.json", "no trace");
  LiveSession::State state =
      Await(*live, [](const LiveSession::State& now) { return !now.problem.empty(); });
  EXPECT_NE(state.problem.find("trace.json"), std::string::npos) << state.problem;
  EXPECT_EQ(state.generation, 0);
  EXPECT_TRUE(Tells(state, "aten::mm"));
  Write("trace.json", kOther);
  state = AwaitGeneration(*live, 1);
  EXPECT_EQ(state.problem, "");
  EXPECT_TRUE(Tells(state, "aten::other"));
}

TEST_F(LiveSessionTest, OnlyFilesThatWouldBeReadAreWatched) {
  const std::unique_ptr<LiveSession> live = Start();
  Write("train.log", "a line");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(opened_, 1);
  Write("rank1.json", kOther);
  AwaitGeneration(*live, 1);
  fs::rename(Path("rank1.json"), Path("rank2.json"));
  AwaitGeneration(*live, 2);
  fs::remove(Path("rank2.json"));
  AwaitGeneration(*live, 3);
}

TEST_F(LiveSessionTest, OtherFilesAreShownAndWatched) {
  const std::unique_ptr<LiveSession> live = Start();
  EXPECT_FALSE(live->Show({Path("missing.json")}).ok());
  EXPECT_EQ(live->Now().generation, 0);
  EXPECT_EQ(live->Now().problem, "");
  Write("second.json", kOther);
  ASSERT_TRUE(live->Show({Path("second.json")}).ok());
  EXPECT_EQ(live->Now().generation, 1);
  EXPECT_EQ(live->Now().session->path(), Path("second.json"));
  const int opened = opened_;
  Write("trace.json", "nobody looks at it");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(opened_, opened);
  Write("second.json", kTrace);
  EXPECT_TRUE(Tells(AwaitGeneration(*live, 2), "aten::mm"));
}

}  // namespace live_session_test
}  // namespace headroom
