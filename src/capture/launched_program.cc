#include "capture/launched_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#ifdef __APPLE__
#include <crt_externs.h>
#define environ (*_NSGetEnviron())  // A library of macOS has no variable of this name.
#endif

namespace headroom {
namespace {

/// Includes SIGUSR1 and SIGUSR2, with which batch systems announce a job's time limit.
constexpr int kHeld[] = {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

sigset_t HeldSet() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kHeld) sigaddset(&set, signal);
  return set;
}

std::vector<std::string> Environment(const EnvironmentChanges& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!changes.contains(std::string(text.substr(0, text.find('='))))) result.emplace_back(text);
  }
  for (const auto& [name, value] : changes) {
    if (value) result.push_back(fmt::format("{}={}", name, *value));
  }
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Waits for a signal. Returns it, and true if the terminal may have sent it.
std::pair<int, bool> NextSignal(const sigset_t& held) {
#ifdef __APPLE__
  int signal = 0;
  return {sigwait(&held, &signal) == 0 ? signal : -1, true};
#else
  siginfo_t info{};
  const int signal = sigwaitinfo(&held, &info);
  return {signal, info.si_code == SI_KERNEL};
#endif
}

/// Returns the descriptors of this process.
std::vector<int> OpenDescriptors() {
  std::vector<int> descriptors;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/dev/fd", error), end; !error && entry != end;
       entry.increment(error))
    descriptors.push_back(std::atoi(entry->path().filename().c_str()));
  if (descriptors.empty()) {  // Without /dev/fd: the numbers that are usual.
    for (int number = 0; number < 256; ++number) descriptors.push_back(number);
  }
  return descriptors;
}

}  // namespace

HeldSignals::HeldSignals() {
  const sigset_t set = HeldSet();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  // If this process inherited SIGCHLD as ignored, the kernel would not report a child's exit.
  std::signal(SIGCHLD, SIG_DFL);
}

HeldSignals::~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int LaunchedProgram::Find(const std::string& program) {
  const auto error_of = [](const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) return errno;
    return access(path.c_str(), X_OK) == 0 && !S_ISDIR(status.st_mode) ? 0 : EACCES;
  };
  if (program.find('/') != std::string::npos) return error_of(program);
  const char* path = std::getenv("PATH");
  int error = ENOENT;
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  while (true) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string folder(colon > 0 ? rest.substr(0, colon) : ".");
    const int found = error_of(fmt::format("{}/{}", folder, program));
    if (found == 0) return 0;
    if (found == EACCES) error = EACCES;
    if (colon == rest.size()) return error;
    rest.remove_prefix(colon + 1);
  }
}

int LaunchedProgram::ShellCode(int error) {
  return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

Result<LaunchedProgram> LaunchedProgram::Start(const std::vector<std::string>& arguments,
                                               const LaunchOptions& options) {
  std::vector<std::string> argument_texts = arguments;
  std::vector<std::string> environment_texts = Environment(options.environment);
  const std::vector<char*> argv = Pointers(argument_texts), envp = Pointers(environment_texts);

  // The program starts with the signal mask and handlers that a shell would give it.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGXFSZ);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              (options.own_group ? POSIX_SPAWN_SETPGROUP : 0)));
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (options.output >= 0) {
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, options.output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, options.output, STDERR_FILENO);
    // Newer C libraries have an action that closes all; it would exclude older systems. An action
    // for a descriptor that is closed by then does nothing.
    for (const int inherited : OpenDescriptors()) {
      if (inherited > STDERR_FILENO) posix_spawn_file_actions_addclose(&files, inherited);
    }
  }
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return Status::Usage(fmt::format("cannot run {}: {}", arguments.front(), std::strerror(error)));
  }
  return LaunchedProgram(pid);
}

std::optional<int> LaunchedProgram::ExitCode() const {
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == 0) return std::nullopt;
  if (ended < 0) return 1;  // An earlier call collected the exit code.
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int LaunchedProgram::Wait() const {
  const sigset_t held = HeldSet();
  for (;;) {
    if (const std::optional<int> code = ExitCode()) return *code;
    const auto [signal, by_terminal] = NextSignal(held);
    if (signal <= 0 || signal == SIGCHLD) continue;
    // The terminal sends to all processes of its foreground group: this process and the program.
    if (by_terminal && (signal == SIGINT || signal == SIGQUIT || signal == SIGHUP)) continue;
    kill(pid_, signal);
  }
}

}  // namespace headroom
