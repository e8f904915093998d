#include "cli/terminal/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/atomic_file.h"
#include "base/text.h"
#include "render/escape.h"

namespace headroom::cli {
namespace {

bool muted = false;

}  // namespace

Status WriteResult(std::string_view text, const std::string& path) {
  if (!path.empty() && path != "-") {
    Result<AtomicFile> file = AtomicFile::Write(path, text);
    return file.ok() ? file.value().Commit() : file.status();
  }
  int error = WriteAll(STDOUT_FILENO, text);
  // Delayed failures (quota, network file systems) show when the descriptor is closed.
  if (error == 0 && close(STDOUT_FILENO) != 0) error = errno;
  if (error == 0 || error == EPIPE) return Status::Ok();
  return Status::Environment(fmt::format("cannot write to stdout: {}", std::strerror(error)));
}

Status WriteData(std::string_view text, const std::string& path) {
  const bool is_shown = (path.empty() || path == "-") && isatty(STDOUT_FILENO) != 0;
  return is_shown ? WriteResult(PrintableLines(text, CharsetOfEnvironment()), path)
                  : WriteResult(text, path);
}

Status RefuseToOverwrite(std::string_view flag, const std::string& target,
                         const std::vector<std::string>& traces) {
  struct stat to {};
  if (stat(target.c_str(), &to) != 0 || !S_ISREG(to.st_mode)) return Status::Ok();
  for (const std::string& trace : traces) {
    struct stat from {};
    if (stat(trace.c_str(), &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino) {
      return Status::Usage(fmt::format("{} {}: that is a trace to be read; name another {}", flag,
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
  if (!status.ok() && made) rmdir(folder.c_str());  // Only if nothing is in it.
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
  const bool to_stdout = output_path.empty() || output_path == "-";
  // Open MPI's mpirun gives its processes a terminal of their own, wherever it takes what they
  // print.
  const bool own_terminal = std::getenv("OMPI_COMM_WORLD_RANK") != nullptr;
  return to_stdout && (no_color == nullptr || *no_color == '\0') && terminal != nullptr &&
         std::strcmp(terminal, "dumb") != 0 && !own_terminal && isatty(STDOUT_FILENO) == 1;
}

}  // namespace headroom::cli
