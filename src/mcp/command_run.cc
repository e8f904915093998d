#include "mcp/command_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/platform.h"

#ifdef __APPLE__
#include <crt_externs.h>
#define environ (*_NSGetEnviron())  // A library of macOS has no variable of this name.
#endif

namespace headroom::mcp {
namespace {

/// Limit for a command's output, in bytes. The largest reports have about ten megabytes.
constexpr std::size_t kMaxPrinted = std::size_t{256} << 20;
constexpr std::size_t kMaxRemarks = std::size_t{1} << 20;

void Close(int& descriptor) {
  if (descriptor >= 0) close(std::exchange(descriptor, -1));
}

/// Appends the available output to `text`. Once `text` would exceed `most` bytes, discards the
/// output instead and returns false.
bool TakeAll(int& descriptor, std::string& text, std::size_t most) {
  std::array<char, std::size_t{64} << 10> buffer;
  bool fits = true;
  while (descriptor >= 0) {
    const ssize_t size = read(descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (size <= 0) {
      Close(descriptor);
      break;
    }
    fits = fits && text.size() + static_cast<std::size_t>(size) <= most;
    if (fits) text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return fits;
}

}  // namespace

Result<CommandRun> CommandRun::Start(const std::vector<std::string>& arguments) {
  const auto failed = [](int error) {
    return Status::Environment(fmt::format("cannot start a command: {}", std::strerror(error)));
  };
  // Allocates everything before fork(), because the child may only call async-signal-safe
  // functions.
  std::vector<std::string> words = {"headroom"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // Hides a launcher's variables, so that the command runs as a single process. No colours: the
  // output goes into a protocol.
  std::vector<std::string> variables = {"LC_ALL=C.UTF-8", "NO_COLOR=1"};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("LC_ALL=") && !text.starts_with("NO_COLOR="))
      variables.emplace_back(text);
  }
  std::vector<char*> envp;
  envp.reserve(variables.size() + 1);
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  CommandRun run;
  std::array<int, 2> out{-1, -1}, err{-1, -1};
  if (!OpenPipe(out)) return failed(errno);
  run.out_ = out[0];
  if (!OpenPipe(err)) {
    const int error = errno;
    Close(out[1]);
    return failed(error);
  }
  run.err_ = err[0];
  int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  const std::string program = ProgramToStart();
  run.started_ = std::chrono::steady_clock::now();
  run.pid_ = nothing < 0 ? -1 : fork();
  const int error = errno;
  if (run.pid_ == 0) {
    setpgid(0, 0);
    EndWithParent(SIGKILL);
    if (getppid() != parent || dup2(nothing, STDIN_FILENO) < 0 || dup2(out[1], STDOUT_FILENO) < 0 ||
        dup2(err[1], STDERR_FILENO) < 0)
      _exit(127);
    execve(program.c_str(), argv.data(), envp.data());
    _exit(127);
  }
  Close(nothing);
  Close(out[1]);
  Close(err[1]);
  if (run.pid_ < 0) return failed(error);
  setpgid(run.pid_, run.pid_);  // Parent and child both call it; the first call takes effect.
  fcntl(run.out_, F_SETFL, O_NONBLOCK);
  fcntl(run.err_, F_SETFL, O_NONBLOCK);
  return run;
}

CommandRun::CommandRun(CommandRun&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)),
      printed_(std::move(other.printed_)),
      remarks_(std::move(other.remarks_)),
      started_(other.started_) {}

CommandRun& CommandRun::operator=(CommandRun&& other) noexcept {
  if (this == &other) return *this;
  End();
  pid_ = std::exchange(other.pid_, -1);
  out_ = std::exchange(other.out_, -1);
  err_ = std::exchange(other.err_, -1);
  printed_ = std::move(other.printed_);
  remarks_ = std::move(other.remarks_);
  started_ = other.started_;
  return *this;
}

CommandRun::~CommandRun() { End(); }

void CommandRun::End() {
  Close(out_);
  Close(err_);
  if (pid_ < 0) return;
  kill(-pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

Status CommandRun::Take() {
  TakeAll(err_, remarks_, kMaxRemarks);
  if (TakeAll(out_, printed_, kMaxPrinted)) return Status::Ok();
  return Status::Environment(
      fmt::format("the answer is longer than {} MiB; request less, for example with top or steps",
                  kMaxPrinted >> 20));
}

std::optional<int> CommandRun::ExitCode() {
  if (out_ >= 0 || err_ >= 0) return std::nullopt;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace headroom::mcp
