#include "cli/terminal/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/atomic_file.h"
#include "base/text.h"
#include "render/escape.h"

namespace headroom::cli {
namespace {

bool muted = false;

bool IsStdout(const std::string& path) { return path.empty() || path == "-"; }

/// Returns the size of the terminal on stdout. Both are 0 if stdout is not a terminal or has no
/// size.
winsize TerminalSize() {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return size;
}

/// Returns the shell command of the pager; empty for no pager.
std::string Pager() {
  for (const char* name : {"HEADROOM_PAGER", "PAGER"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) return std::strcmp(value, "cat") == 0 ? "" : value;
  }
  return "less";
}

}  // namespace

Status WriteResult(std::string_view text, const std::string& path) {
  if (!IsStdout(path)) {
    Result<AtomicFile> file = AtomicFile::Write(path, text);
    return file.ok() ? file.value().Commit() : file.status();
  }
  int error = WriteAll(STDOUT_FILENO, text);
  // Closing the descriptor reports delayed failures (quota, network file systems).
  if (error == 0 && close(STDOUT_FILENO) != 0) error = errno;
  if (error == 0 || error == EPIPE) return Status::Ok();
  return Status::Environment(fmt::format("cannot write to stdout: {}", std::strerror(error)));
}

Status WriteData(std::string_view text, const std::string& path) {
  const bool is_shown = IsStdout(path) && isatty(STDOUT_FILENO) != 0;
  return is_shown ? WriteResult(PrintableLines(text, CharsetOfEnvironment()), path)
                  : WriteResult(text, path);
}

Status WritePaged(std::string_view text, const std::string& path) {
  const winsize terminal = TerminalSize();
  const std::string pager = Pager();
  if (!IsStdout(path) || terminal.ws_row == 0 || pager.empty() ||
      std::count(text.begin(), text.end(), '\n') < terminal.ws_row)
    return WriteResult(text, path);
  setenv("LESS", "FRX", /*overwrite=*/0);
  // Leaves Ctrl-C to the pager. Unlike SIG_IGN, a handler is not inherited.
  struct sigaction before {
  }, wait{};
  wait.sa_handler = [](int) {};
  sigaction(SIGINT, &wait, &before);
  FILE* const pipe = popen(pager.c_str(), "w");
  if (pipe != nullptr) fwrite(text.data(), 1, text.size(), pipe);
  const int ended = pipe == nullptr ? -1 : pclose(pipe);
  sigaction(SIGINT, &before, nullptr);
  constexpr int kNotFound = 127;  // Exit code of the shell for a missing command.
  const bool shown = ended != -1 && !(WIFEXITED(ended) && WEXITSTATUS(ended) == kNotFound);
  return shown ? Status::Ok() : WriteResult(text, path);
}

Status RefuseToOverwrite(std::string_view flag, const std::string& target,
                         const std::vector<std::string>& traces) {
  struct stat to {};
  if (stat(target.c_str(), &to) != 0 || !S_ISREG(to.st_mode)) return Status::Ok();
  for (const std::string& trace : traces) {
    struct stat from {};
    if (stat(trace.c_str(), &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
      return Status::Usage(fmt::format("{} {}: this is an input trace; name another {}", flag,
                                       target, flag == "--csv" ? "folder" : "file"));
    }
  }
  return Status::Ok();
}

Status WriteFolder(const std::string& folder, std::vector<NamedFile> files) {
  const bool made = mkdir(folder.c_str(), 0777) == 0;
  if (!made && errno != EEXIST) {
    return Status::Environment(
        fmt::format("cannot make the folder {}: {}", folder, std::strerror(errno)));
  }
  Status status;
  {
    std::vector<AtomicFile> written;
    for (NamedFile& file : files) {
      Result<AtomicFile> one =
          AtomicFile::Write(fmt::format("{}/{}", folder, file.name), std::move(file.content));
      if (!one.ok()) {
        status = one.status();
        break;
      }
      written.push_back(std::move(one).value());
    }
    for (std::size_t i = 0; i < written.size() && status.ok(); ++i) status = written[i].Commit();
  }
  if (!status.ok() && made) rmdir(folder.c_str());  // Removes the folder only if it is empty.
  return status;
}

void Remark(std::string_view text) {
  if (!muted) (void)WriteAll(STDERR_FILENO, text);
}

void MuteRemarks(bool mute) { muted = mute; }

bool RemarksAreMuted() { return muted; }

Charset CharsetOfEnvironment() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string locale = LowerCase(value);
    const bool utf8 =
        locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
    return utf8 ? Charset::kUtf8 : Charset::kAscii;
  }
  return Charset::kAscii;
}

bool UseColor(ColorMode mode, const std::string& output_path) {
  if (mode != ColorMode::kAuto) return mode == ColorMode::kAlways;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  // mpirun of Open MPI gives its processes a pseudo-terminal, even if its own output is not a
  // terminal.
  const bool own_terminal = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
  return IsStdout(output_path) && (no_color == nullptr || *no_color == '\0') &&
         terminal != nullptr && std::strcmp(terminal, "dumb") != 0 && !own_terminal &&
         isatty(STDOUT_FILENO) == 1;
}

PageStyle StyleOfPage(const std::string& output_path, ColorMode mode) {
  PageStyle style = {.color = UseColor(mode, output_path), .charset = CharsetOfEnvironment()};
  std::size_t columns = IsStdout(output_path) ? TerminalSize().ws_col : 0;
  if (const char* wanted = std::getenv("COLUMNS"); columns == 0 && wanted != nullptr)
    columns = std::strtoul(wanted, nullptr, 10);
  if (columns > 0) style.width = std::clamp(columns, PageStyle::kMinWidth, PageStyle::kMaxWidth);
  return style;
}

}  // namespace headroom::cli
