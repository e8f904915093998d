#include "serve/run/program_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/platform.h"
#include "capture/launched_program.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

/// Interval for checking if the program has ended or must end.
constexpr std::chrono::milliseconds kPollTime(100);
/// Time from SIGTERM to SIGKILL, so that the program and its children can write a checkpoint.
constexpr std::chrono::seconds kGrace(5);
/// Limit per read, so that endless output does not block other work.
constexpr std::size_t kMaxAtOnce = std::size_t{64} << 10;

/// Returns the capacity of a pipe.
std::size_t PipeBytes(int pipe) {
#ifdef F_GETPIPE_SZ
  const int size = fcntl(pipe, F_GETPIPE_SZ);
  return size > 0 ? static_cast<std::size_t>(size) : 0;
#else
  (void)pipe;
  return std::size_t{64} << 10;
#endif
}

/// Output of a program.
class Output {
 public:
  static Result<Output> Open() {
    std::array<int, 2> ends{};
    if (!OpenPipe(ends)) {
      return Status::Environment(
          fmt::format("cannot read the program's output: {}", std::strerror(errno)));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);  // Affects only this end of the pipe.
    return Output(ends[0], ends[1]);
  }
  Output(Output&& other) noexcept
      : reads_(std::exchange(other.reads_, -1)),
        writes_(std::exchange(other.writes_, -1)),
        buffer_(std::move(other.buffer_)) {}
  Output& operator=(Output&&) = delete;
  ~Output() {
    CloseWriting();
    if (reads_ >= 0) close(reads_);
  }

  int writes() const { return writes_; }
  /// Closes our copy of the write end, so that the output ends with the program.
  void CloseWriting() {
    if (writes_ >= 0) close(std::exchange(writes_, -1));
  }

  /// Waits for output for a limited time, and passes it on.
  void Await(const std::function<void(std::string_view)>& take) {
    pollfd polled = {.fd = reads_, .events = POLLIN, .revents = 0};
    if (poll(&polled, 1, static_cast<int>(kPollTime.count())) > 0) TakeSome(take);
  }
  /// Passes on the output so far, at most one pipe's capacity, because other processes may still
  /// print.
  void TakeRest(const std::function<void(std::string_view)>& take) {
    for (std::size_t left = reads_ >= 0 ? PipeBytes(reads_) : 0; left > 0;) {
      const std::size_t taken = TakeSome(take);
      if (taken == 0) return;
      left -= std::min(left, taken);
    }
  }

 private:
  Output(int reads, int writes)
      : reads_(reads), writes_(writes), buffer_(std::make_unique<Buffer>()) {}

  /// Returns the number of bytes; 0: none available now.
  std::size_t TakeSome(const std::function<void(std::string_view)>& take) {
    if (reads_ < 0) return 0;
    ssize_t size = 0;
    do {
      size = read(reads_, buffer_->data(), buffer_->size());
    } while (size < 0 && errno == EINTR);
    if (size == 0)
      close(std::exchange(reads_,
                          -1));  // End of file: poll() would otherwise return at once forever.
    if (size <= 0) return 0;
    take({buffer_->data(), static_cast<std::size_t>(size)});
    return static_cast<std::size_t>(size);
  }

  using Buffer = std::array<char, kMaxAtOnce>;

  int reads_, writes_;
  std::unique_ptr<Buffer> buffer_;
};

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
      // A recorder forwards the signal. Child processes get it after the program has ended.
      kill(program.pid(), SIGTERM);
      patience = Clock::now() + kGrace;
    }
    if (patience && Clock::now() >= *patience) kill(-program.pid(), SIGKILL);
  }
  // Signals the remaining processes of the group. If the group is empty, no new group has its id
  // yet, because the system assigns ids in sequence.
  if (kill(-program.pid(), SIGTERM) == 0) {
    if (!patience) patience = Clock::now() + kGrace;
    while (kill(-program.pid(), 0) == 0 && Clock::now() < *patience) output.Await(run.take);
    kill(-program.pid(), SIGKILL);
  }
  output.TakeRest(run.take);
  return *code;
}

}  // namespace headroom
