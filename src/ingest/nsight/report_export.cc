#include "ingest/nsight/report_export.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/atomic_file.h"
#include "base/platform.h"
#include "base/read_file.h"
#include "base/text.h"

namespace headroom::nsight {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReportSuffixes[] = {".nsys-rep", ".qdrep"};
constexpr std::string_view kCompressedSuffixes[] = {".gz", ".zst", ".xz", ".bz2", ".zip"};

bool HasReportSuffix(std::string_view path) {
  return std::any_of(std::begin(kReportSuffixes), std::end(kReportSuffixes),
                     [&](std::string_view suffix) { return path.ends_with(suffix); });
}

/// Returns the first program of that name on PATH. Ignores relative folders of PATH, because the
/// folder of a trace may contain an untrusted program.
std::optional<std::string> FindProgram(std::string_view name) {
  const char* const variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view folder = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (!folder.starts_with('/')) continue;
    std::string path = fmt::format("{}/{}", folder, name);
    struct stat info = {};
    if (stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0)
      return path;
  }
  return std::nullopt;
}

/// Returns the text quoted as one word for a shell.
std::string Quoted(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return IsLetter(c) || IsDigit(c) || std::string_view("/._-+=@%,").find(c) != std::string::npos;
  });
  if (plain) return std::string(text);
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Returns the command for a manual export.
std::string CommandFor(const std::string& path) {
  return fmt::format("nsys export --type sqlite {}", Quoted(path));
}

/// Returns a program's error message: its last line that mentions a failure, else its last line.
/// Carriage returns also end a line, because progress bars use them.
std::string Complaint(std::string_view printed) {
  constexpr std::size_t kLongest = 300;
  std::string last, failure;
  while (!printed.empty()) {
    const std::size_t end = std::min(printed.find_first_of("\r\n"), printed.size());
    const std::string_view line = TrimBlanks(printed.substr(0, std::min(end, kLongest)));
    printed.remove_prefix(std::min(end + 1, printed.size()));
    if (line.empty()) continue;
    last = line;
    const std::string lower = LowerCase(line);
    for (const std::string_view word : {"error", "fail", "cannot", "unsupported", "version"}) {
      if (lower.find(word) != std::string::npos) failure = line;
    }
  }
  return failure.empty() ? last : failure;
}

/// How a program ended: its status from waitpid(), or the errno of a failure to run it.
struct Ending {
  int status = 0;
  int error = 0;
};
/// Runs a program to its end without input, and writes its output to the file `log`.
Ending RunProgram(const std::vector<std::string>& words, const std::string& log) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT
  argv.push_back(nullptr);
  const int output = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (output < 0) return {.error = errno};
  const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const pid_t parent = getpid();
  const pid_t child = input < 0 ? -1 : fork();
  const int error = errno;
  if (child == 0) {
    // The child must end if this process does.
    EndWithParent(SIGTERM);
    if (getppid() != parent || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(output, STDERR_FILENO) < 0) {
      _exit(127);
    }
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(output);
  if (input >= 0) close(input);
  if (child < 0) return {.error = error};
  Ending ending;
  while (waitpid(child, &ending.status, 0) < 0) {
    if (errno == EINTR) continue;
    ending.error = errno;
    break;
  }
  // If this process ignores SIGCHLD, the exit code is unknown. The caller then checks only for the
  // database.
  if (ending.error == ECHILD) ending = {};
  return ending;
}

Status Unpack(ByteSource& bytes, const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  int error = descriptor < 0 ? errno : 0;
  std::vector<char> buffer(std::size_t{1} << 20);
  Status status;
  for (std::size_t got = buffer.size(); error == 0 && got == buffer.size();) {
    const Result<std::size_t> n = bytes.Read(std::span(buffer));
    if (!n.ok()) {
      status = n.status();
      break;
    }
    got = n.value();
    error = WriteAll(descriptor, {buffer.data(), got});
  }
  if (descriptor >= 0) close(descriptor);
  return error == 0 ? status : CannotWrite(path, error);
}

}  // namespace

bool IsReportName(std::string_view path) {
  for (const std::string_view suffix : kCompressedSuffixes) {
    if (path.ends_with(suffix)) path.remove_suffix(suffix.size());
  }
  return HasReportSuffix(path);
}

Result<ReportExport> ReportExport::Make(const std::string& path, ByteSource& bytes) {
  const std::optional<std::string> nsys = FindProgram("nsys");
  if (!nsys) {
    return Status::BadInput(fmt::format(
        "{}: is an Nsight Systems report, which requires nsys to export it; nsys is not on "
        "PATH; on a machine with nsys, run: {}; then pass the .sqlite file",
        path, CommandFor(path)));
  }
  ReportExport made;
  const char* const base = std::getenv("TMPDIR");
  std::string folder =
      fmt::format("{}/headroom-nsys-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp");
  if (mkdtemp(folder.data()) == nullptr) {
    return Status::Environment(
        fmt::format("{}: cannot create a folder for the export: {}; set TMPDIR to another folder",
                    folder, std::strerror(errno)));
  }
  made.folder_ = folder;
  made.database_ = folder + "/report.sqlite";
  const std::string unpacked = folder + "/report.nsys-rep", log = folder + "/nsys.log";
  made.unfinished_database_ = UnfinishedFile(made.database_);
  made.unfinished_report_ = UnfinishedFile(unpacked);
  made.unfinished_log_ = UnfinishedFile(log);
  made.unfinished_folder_ = UnfinishedFile(folder);

  // To nsys, a word that begins with '-' is a flag.
  std::string report = path.starts_with('-') ? "./" + path : path;
  struct stat info = {};
  if (!HasReportSuffix(path) || stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    if (Status status = Unpack(bytes, unpacked); !status.ok()) return status;
    report = unpacked;
  }
  const Ending ending =
      RunProgram({*nsys, "export", "--type", "sqlite", "--output", made.database_, report}, log);
  if (ending.error != 0) {
    return Status::Environment(fmt::format("{}: {} cannot be started: {}; run it yourself: {}",
                                           path, *nsys, std::strerror(ending.error),
                                           CommandFor(path)));
  }
  const bool has_database =
      stat(made.database_.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
  if (ending.status == 0 && has_database) return made;

  const std::string how =
      WIFSIGNALED(ending.status) ? fmt::format("was stopped by signal {}", WTERMSIG(ending.status))
      : ending.status != 0 ? fmt::format("failed with exit code {}", WEXITSTATUS(ending.status))
                           : std::string("wrote no database");
  const auto printed = ReadFile(log);
  const std::string complaint =
      printed.ok() && printed.value() ? Complaint(*printed.value()) : std::string();
  return Status::BadInput(fmt::format(
      "{}: is an Nsight Systems report; {} {}{}{}; export it with the nsys that recorded it or a "
      "newer one: {}",
      path, *nsys, how, complaint.empty() ? "" : ": ", complaint, CommandFor(path)));
}

ReportExport::ReportExport(ReportExport&& other) noexcept
    : folder_(std::exchange(other.folder_, {})),
      database_(std::exchange(other.database_, {})),
      unfinished_database_(std::move(other.unfinished_database_)),
      unfinished_report_(std::move(other.unfinished_report_)),
      unfinished_log_(std::move(other.unfinished_log_)),
      unfinished_folder_(std::move(other.unfinished_folder_)) {}

ReportExport::~ReportExport() {
  if (folder_.empty()) return;
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

}  // namespace headroom::nsight
