// Tests the shared memory of a recorded program, through the real socket.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "test_recorder.h"

namespace headroom {
namespace {

/// A started timer_program.
class Program {
 public:
  Program(const TestRecorder& recorder, std::vector<std::string> arguments,
          const char* headroom = "1", rlim_t file_limit = RLIM_INFINITY) {
    if (pipe2(pipe_, O_CLOEXEC) != 0) std::abort();
    pid_ = fork();
    if (pid_ != 0) {
      close(pipe_[1]);
      return;
    }
    dup2(pipe_[1], 1);
    setenv("HEADROOM_SOCKET", recorder.Path().c_str(), 1);
    setenv("HEADROOM", headroom, 1);
    if (file_limit != RLIM_INFINITY) {
      const rlimit limit = {file_limit, file_limit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    std::vector<char*> argv = {const_cast<char*>(TIMER_PROGRAM)};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(TIMER_PROGRAM, argv.data());
    _exit(127);
  }

  bool Running() {
    if (!ended_ && waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
    return !ended_;
  }
  int Wait() {
    if (!ended_) waitpid(pid_, &status_, 0);
    ended_ = true;
    return status_;
  }
  void Kill() { kill(pid_, SIGKILL); }
  pid_t pid() const { return pid_; }
  std::string Output() {
    std::string out;
    char bytes[256];
    for (ssize_t n; (n = read(pipe_[0], bytes, sizeof bytes)) > 0;) {
      out.append(bytes, static_cast<std::size_t>(n));
    }
    close(pipe_[0]);
    return out;
  }

 private:
  int pipe_[2];
  pid_t pid_;
  int status_ = 0;
  bool ended_ = false;
};

struct Event {
  std::uint32_t kind, serial;
  std::uint64_t ticks, payload;
  std::string name;
  std::uint32_t id;
};

/// Returns the records of a ring with their payloads. The test fails if they are invalid.
std::vector<Event> EventsOf(const TestRecorder::Process& process, const TestRecorder::Ring& ring) {
  std::vector<Event> out;
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < ring.records.size(); ++i) {
    const headroom_record& record = ring.records[i];
    const std::uint32_t kind = record.info & 0xff;
    const bool payload = kind == HEADROOM_KIND_STEP || kind == HEADROOM_KIND_COUNTER ||
                         kind == HEADROOM_KIND_GRADIENT;
    EXPECT_TRUE(kind >= HEADROOM_KIND_BEGIN && kind <= HEADROOM_KIND_GRADIENT) << i;
    EXPECT_LT(record.name, process.shared->names);
    EXPECT_GE(record.ticks, last) << "a thread's stamps are in order";
    last = record.ticks;
    out.push_back({kind, record.info >> 8, record.ticks, payload ? ring.records[i + 1].ticks : 0,
                   process.Name(record.name), record.name});
    i += payload ? 1 : 0;
  }
  return out;
}

/// Checks that each end belongs to an open region. Returns the number of regions that stay open.
std::size_t OpenAfter(const std::vector<Event>& events) {
  std::map<std::uint32_t, std::string> open;
  for (const Event& event : events) {
    if (event.kind == HEADROOM_KIND_BEGIN || event.kind == HEADROOM_KIND_STEP) {
      EXPECT_TRUE(open.emplace(event.serial, event.name).second);
    } else if (event.kind == HEADROOM_KIND_END) {
      EXPECT_EQ(open[event.serial], event.name);
      open.erase(event.serial);
    }
  }
  return open.size();
}

void DrainUntilItEnds(TestRecorder& recorder, Program& program, useconds_t pause = 2000) {
  while (program.Running()) {
    recorder.Drain();
    usleep(pause);
  }
  recorder.Drain();
}

/// Returns the data of a program that ends normally and starts no other.
const TestRecorder::Process& RecordToItsEnd(TestRecorder& recorder, Program& program) {
  DrainUntilItEnds(recorder, program);
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(recorder.processes().size(), 1);
  return recorder.processes().at(0);
}

TEST(RecordTest, EventsOfCArriveWhole) {
  TestRecorder recorder;
  Program program(recorder, {"c", "3"});
  const TestRecorder::Process& process = RecordToItsEnd(recorder, program);
  EXPECT_EQ(process.shared->pid, program.pid());
  ASSERT_EQ(process.rings.size(), 1);
  EXPECT_EQ(process.rings[0].kind, HEADROOM_RING_THREAD);
  EXPECT_EQ(process.rings[0].tid, program.pid());
  EXPECT_EQ(process.rings[0].name, "timer_program");
  const std::vector<Event> events = EventsOf(process, process.rings[0]);
  ASSERT_EQ(events.size(), 3 * 9);
  EXPECT_EQ(OpenAfter(events), 0);
  for (std::size_t i = 0; i < 3; ++i) {
    const Event* step = &events[i * 9];
    EXPECT_EQ(step[0].kind, HEADROOM_KIND_STEP);
    EXPECT_EQ(step[0].payload, i);
    EXPECT_EQ(step[1].name, "c outer");
    EXPECT_NE(process.Place(step[1].id).find("c_program.c:"), std::string::npos);
    EXPECT_NE(process.Place(step[1].id).find(" TimeInC"), std::string::npos);
    EXPECT_EQ(step[2].name, "c inner");
    EXPECT_EQ(process.Place(step[2].id), "") << "begun by text: nowhere";
    EXPECT_EQ(step[3].kind, HEADROOM_KIND_MARK);
    double value;
    std::memcpy(&value, &step[4].payload, sizeof value);
    EXPECT_EQ(value, static_cast<double>(i));
    EXPECT_EQ(step[5].kind, HEADROOM_KIND_GRADIENT);
    EXPECT_EQ(step[5].payload, 4);
  }
}

// If these were recorded as steps, a reader would count from 0 twice.
TEST(RecordTest, StepsBelowZeroAreRegions) {
  TestRecorder recorder;
  Program program(recorder, {"steps", "-2"});
  const TestRecorder::Process& process = RecordToItsEnd(recorder, program);
  const std::vector<Event> events = EventsOf(process, process.rings.at(0));
  ASSERT_EQ(events.size(), 4 * 2);
  EXPECT_EQ(OpenAfter(events), 0);
  for (const Event& event : events) EXPECT_EQ(event.name, "STEP");
  EXPECT_EQ(events[0].kind, HEADROOM_KIND_BEGIN);
  EXPECT_EQ(events[2].kind, HEADROOM_KIND_BEGIN);
  EXPECT_EQ(events[4].kind, HEADROOM_KIND_STEP);
  EXPECT_EQ(events[4].payload, 0);
  EXPECT_EQ(events[6].payload, 1);
}

TEST(RecordTest, TwoMillionRegionsASecondAndThreadWithoutALoss) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  constexpr int kRegions = 10'000;  // This test's recorder is ten times as slow here.
#else
  constexpr int kRegions = 1'000'000;
#endif
  for (int attempt = 0; attempt < 5; ++attempt) {
    TestRecorder recorder;
    Program program(recorder, {"paced", std::to_string(kRegions)});
    auto longest = std::chrono::steady_clock::duration::zero();
    for (auto last = std::chrono::steady_clock::now(); program.Running();) {
      recorder.Drain();
      usleep(5000);
      const auto now = std::chrono::steady_clock::now();
      longest = std::max(longest, now - last);
      last = now;
    }
    recorder.Drain();
    std::size_t seen = 0, dropped = 0;
    const TestRecorder::Process& process = recorder.processes().at(0);
    for (const TestRecorder::Ring& ring : process.rings) {
      dropped += ring.dropped;
      seen += ring.records.size();
      EXPECT_EQ(OpenAfter(EventsOf(process, ring)), 0);
    }
    EXPECT_EQ(seen / 2 + dropped, 2 * kRegions);
    if (dropped == 0) return;
    // A ring holds 131 ms of events.
    EXPECT_GT(longest, std::chrono::milliseconds(100)) << "the recorder came in time";
  }
  GTEST_SKIP() << "this machine is too busy: the recorder was kept waiting for more than 100 ms";
}

TEST(RecordTest, AFullRingLosesWholeRegionsAndCountsThem) {
  constexpr int kRegions = 400'000;  // Two records each, in a ring for 262,144 regions. The test
                                     // does not read it in time.
  TestRecorder recorder;
  Program program(recorder, {"burst", std::to_string(kRegions)});
  EXPECT_EQ(program.Wait(), 0) << "a recorder that does nothing does not stop the program";
  recorder.Drain();
  const TestRecorder::Process& process = recorder.processes().at(0);
  ASSERT_EQ(process.rings.size(), 1);
  const std::vector<Event> events = EventsOf(process, process.rings[0]);
  EXPECT_EQ(OpenAfter(events), 0) << "each begin that was recorded has its end";
  EXPECT_EQ(events.size() / 2 + process.rings[0].dropped, 2 * kRegions);
  EXPECT_EQ(program.Output(),
            "1 " + std::to_string(kRegions) + " " + std::to_string(process.rings[0].dropped) + "\n")
      << "statistics are complete";
}

TEST(RecordTest, ASlowRecorderGetsWhatItHasTimeFor) {
  constexpr int kRegions = 1'000'000;
  TestRecorder recorder;
  Program program(recorder, {"burst", std::to_string(kRegions)});
  DrainUntilItEnds(recorder, program, 20'000);
  const TestRecorder::Process& process = recorder.processes().at(0);
  const std::vector<Event> events = EventsOf(process, process.rings.at(0));
  EXPECT_EQ(OpenAfter(events), 0);
  EXPECT_EQ(events.size() / 2 + process.rings[0].dropped, 2 * kRegions);
}

TEST(RecordTest, KilledProgramsLoseNothing) {
  char path[] = "/tmp/headroom_test_XXXXXX";
  const int file = mkstemp(path);
  ASSERT_EQ(ftruncate(file, 4096), 0);
  auto* done =
      static_cast<std::uint64_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  unsigned random = 12345;
  for (int run = 0; run < 10; ++run) {
    *done = 0;
    TestRecorder recorder;
    Program program(recorder, {"forever", path});
    while (__atomic_load_n(done, __ATOMIC_ACQUIRE) == 0) usleep(100);
    recorder.Accept();
    usleep(rand_r(&random) % 20'000);
    program.Kill();
    program.Wait();
    recorder.Drain();  // Nothing was read while the program ran.
    const TestRecorder::Process& process = recorder.processes().at(0);
    const std::vector<Event> events = EventsOf(process, process.rings.at(0));
    EXPECT_LE(OpenAfter(events), 1);
    double value = 0;
    for (const Event& event : events) {
      if (event.kind == HEADROOM_KIND_COUNTER) std::memcpy(&value, &event.payload, sizeof value);
    }
    EXPECT_GE(value, static_cast<double>(*done));
    EXPECT_LE(value, static_cast<double>(*done + 1));
  }
  munmap(done, 4096);
  close(file);
  unlink(path);
}

TEST(RecordTest, RingsOfThreadsThatEndedAreUsedAgain) {
  TestRecorder recorder;
  Program program(recorder, {"threads", "300"});
  DrainUntilItEnds(recorder, program, 100);
  std::size_t regions = 0;
  for (const TestRecorder::Ring& ring : recorder.processes().at(0).rings) {
    regions += ring.records.size() / 2;
  }
  EXPECT_EQ(regions + recorder.processes()[0].shared->dropped_threads, 300);
  EXPECT_GT(regions, 128);
}

TEST(RecordTest, MoreThreadsThanRings) {
  TestRecorder recorder;
  Program program(recorder, {"threads", "200"});
  program.Wait();  // Rings are never freed.
  recorder.Drain();
  EXPECT_EQ(recorder.processes().at(0).rings.size(), 128);
  EXPECT_EQ(recorder.processes()[0].shared->dropped_threads, 200 - 128);
}

TEST(RecordTest, AChildIsAProcessOfItsOwn) {
  TestRecorder recorder;
  Program program(recorder, {"fork"});
  DrainUntilItEnds(recorder, program);
  for (int i = 0; i < 500 && recorder.processes().size() < 2; ++i) {
    usleep(10'000);
    recorder.Drain();
  }
  ASSERT_EQ(recorder.processes().size(), 2);
  std::map<bool, std::vector<std::string>> began;
  for (const TestRecorder::Process& process : recorder.processes()) {
    for (const Event& event : EventsOf(process, process.rings.at(0))) {
      if (event.kind != HEADROOM_KIND_BEGIN) continue;
      began[process.shared->pid == program.pid()].push_back(event.name);
    }
  }
  EXPECT_EQ(began[true], (std::vector<std::string>{"before", "parent"}));
  EXPECT_EQ(began[false], (std::vector<std::string>{"child"}));
}

TEST(RecordTest, OffByTheEnvironment) {
  TestRecorder recorder;
  Program program(recorder, {"burst", "10"}, "0");
  EXPECT_EQ(program.Wait(), 0);
  recorder.Accept();
  EXPECT_TRUE(recorder.processes().empty());
  EXPECT_EQ(program.Output(), "0 0 0\n");
}

TEST(RecordTest, ALimitOnFileSizesIsNoDeath) {
  TestRecorder recorder;
  Program program(recorder, {"burst", "10"}, "1", 1 << 20);
  EXPECT_EQ(program.Wait(), 0);
  EXPECT_EQ(program.Output(), "1 10 0\n") << "not recorded, but timed";
}

}  // namespace
}  // namespace headroom
