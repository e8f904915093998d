#include "serve/program_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "capture/launched_program.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

/// How soon it is seen that a program has ended, or shall.
constexpr std::chrono::milliseconds kGlance(100);
/// From SIGTERM to SIGKILL: time to write a checkpoint, for the program and for what it left.
constexpr std::chrono::seconds kGrace(5), kGraceOfRest(2);

/// What a program prints.
class Output {
 public:
  static Result<Output> Open() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      return Status::Internal(
          fmt::format("cannot read what a program prints: {}", std::strerror(errno)));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);  // Of this end alone.
    return Output(ends[0], ends[1]);
  }
  Output(Output&& other) noexcept
      : reads_(std::exchange(other.reads_, -1)), writes_(std::exchange(other.writes_, -1)) {}
  Output& operator=(Output&&) = delete;
  ~Output() {
    CloseWriting();
    if (reads_ >= 0) close(reads_);
  }

  int writes() const { return writes_; }
  /// So that the program's end is the output's.
  void CloseWriting() {
    if (writes_ >= 0) close(std::exchange(writes_, -1));
  }

  /// Sleeps for a glance, or until something was printed; takes all that was.
  void Await(const std::function<void(std::string_view)>& take) {
    pollfd polled = {.fd = reads_, .events = POLLIN, .revents = 0};
    if (poll(&polled, 1, static_cast<int>(kGlance.count())) > 0) Drain(take);
  }
  void Drain(const std::function<void(std::string_view)>& take) {
    std::array<char, 4096> buffer{};
    while (reads_ >= 0) {
      const ssize_t size = read(reads_, buffer.data(), buffer.size());
      if (size > 0) {
        take({buffer.data(), static_cast<std::size_t>(size)});
      } else if (size == 0) {
        close(std::exchange(reads_, -1));  // poll() would return at once for ever.
      } else if (errno != EINTR) {
        return;
      }
    }
  }

 private:
  Output(int reads, int writes) : reads_(reads), writes_(writes) {}

  int reads_, writes_;
};

/// Ends what a program that has ended left in its group. A group that is empty has its number for
/// long enough: the system gives numbers in turn.
void EndRest(pid_t group) {
  if (kill(-group, SIGTERM) != 0) return;
  const Clock::time_point until = Clock::now() + kGraceOfRest;
  while (Clock::now() < until) {
    if (kill(-group, 0) != 0) return;
    std::this_thread::sleep_for(kGlance / 10);
  }
  kill(-group, SIGKILL);
}

}  // namespace

Result<int> RunToEnd(const ProgramRun& run) {
  Result<Output> opened = Output::Open();
  if (!opened.ok()) return opened.status();
  Output& output = opened.value();
  const Result<LaunchedProgram> started =
      LaunchedProgram::Start(run.arguments, {.output = output.writes(), .own_group = true});
  if (!started.ok()) return started.status();
  output.CloseWriting();
  const LaunchedProgram& program = started.value();
  std::optional<Clock::time_point> patience;
  std::optional<int> code;
  while (!(code = program.ExitCode())) {
    output.Await(run.take);
    if (!patience && run.is_stopped()) {
      // A recorder passes it on; what it started beside its program has its turn in EndRest().
      kill(program.pid(), SIGTERM);
      patience = Clock::now() + kGrace;
    }
    if (patience && Clock::now() >= *patience) kill(-program.pid(), SIGKILL);
  }
  EndRest(program.pid());
  output.Drain(run.take);
  return *code;
}

}  // namespace headroom
