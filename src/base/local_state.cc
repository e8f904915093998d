#include "base/local_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"
#include "base/read_file.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOwnerOnly = 0600, kFolderOfOwner = 0700;

/// Creates the missing parent folders of a file.
Status MakeFolders(const fs::path& folder) {
  std::error_code unknown;
  if (folder.empty() || fs::is_directory(folder, unknown)) return Status::Ok();
  if (Status status = MakeFolders(folder.parent_path()); !status.ok()) return status;
  if (mkdir(folder.c_str(), kFolderOfOwner) == 0 || errno == EEXIST) return Status::Ok();
  return Status::Environment(fmt::format("cannot create the folder {}: {}", folder.string(),
                                         std::generic_category().message(errno)));
}

/// Returns the kEnvironment failure for a path that is not a regular file.
Status NoFile(const std::string& path) {
  return Status::Environment(CheckStateFile(path).message());
}

/// Opens or creates a regular file that only its owner can read, and locks it. If another process
/// holds the lock, waits if `wait`, else returns nullopt.
Result<std::optional<UniqueDescriptor>> OpenLocked(const std::string& path, bool wait) {
  if (Status status = MakeFolders(fs::path(path).parent_path()); !status.ok()) return status;
  UniqueDescriptor file(open(
      path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kOwnerOnly));
  const int open_error = errno;
  struct stat info {};
  if (!file.is_open())
    return CheckStateFile(path).ok() ? CannotWrite(path, open_error) : NoFile(path);
  if (fstat(file.number(), &info) != 0 || !S_ISREG(info.st_mode)) return NoFile(path);
  while (flock(file.number(), wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<UniqueDescriptor>();
    // Some network file systems have no locks. A single append to them is still written as a whole.
    if (errno == ENOSYS || errno == ENOLCK || errno == EOPNOTSUPP) break;
    if (errno != EINTR) return CannotWrite(path, errno);
  }
  return std::optional(std::move(file));
}

}  // namespace

std::optional<std::string> LocalStatePath(std::string_view name) {
  const auto below = [&](const char* variable,
                         std::string_view folder) -> std::optional<std::string> {
    const char* root = std::getenv(variable);
    // The specification requires that relative paths are ignored.
    if (root == nullptr || *root != '/') return std::nullopt;
    return std::string(root).append(folder).append("/").append(name);
  };
  if (auto path = below("XDG_STATE_HOME", "/headroom")) return path;
  return below("HOME", "/.local/state/headroom");
}

Status CheckStateFile(const std::string& path) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return Status::Ok();
  return Status::BadInput(fmt::format("{} is {}, not a file; remove it", path,
                                      S_ISLNK(info.st_mode)    ? "a symbolic link"
                                      : S_ISDIR(info.st_mode)  ? "a folder"
                                      : S_ISFIFO(info.st_mode) ? "a pipe"
                                                               : "a device or a socket"));
}

Result<std::optional<std::string>> ReadLocalState(const std::string& path) {
  constexpr const char* kWithout = "{}; to ignore it, pass --no-local-state";
  std::error_code unreachable;
  if (!fs::exists(fs::symlink_status(path, unreachable))) return std::optional<std::string>();
  if (Status status = CheckStateFile(path); !status.ok())
    return Status::BadInput(fmt::format(kWithout, status.message()));
  Result<std::optional<std::string>> text = ReadFile(path);
  if (text.ok()) return text;
  return Status::BadInput(fmt::format(kWithout, text.status().message()));
}

Status AppendToLocalState(const std::string& path, std::string_view lines) {
  // The lock lasts until the file closes, so other writers wait.
  const Result<std::optional<UniqueDescriptor>> locked = OpenLocked(path, /*wait=*/true);
  if (!locked.ok()) return locked.status();
  const int file = locked.value()->number();
  const off_t end = lseek(file, 0, SEEK_END);
  if (end < 0) return CannotWrite(path, errno);
  std::string text;
  char last = '\n';
  if (end > 0 && pread(file, &last, 1, end - 1) == 1 && last != '\n') text += '\n';
  text += lines;
  int error = WriteAll(file, text);
  if (error == 0 && fsync(file) != 0) error = errno;
  if (error == 0) return Status::Ok();
  // Removes a partial line. If this also fails, the next append begins a new line.
  if (ftruncate(file, end) != 0) return CannotWrite(path, errno);
  return CannotWrite(path, error);
}

Status ReplaceLocalState(const std::string& path, std::string_view content) {
  if (Status status = MakeFolders(fs::path(path).parent_path()); !status.ok()) return status;
  if (!CheckStateFile(path).ok()) return NoFile(path);
  Result<AtomicFile> file = AtomicFile::Write(path, content, kOwnerOnly);
  if (!file.ok()) return file.status();
  return file.value().Commit();
}

Result<LocalStateLock> LocalStateLock::Take(const std::string& path, const std::string& taken) {
  Result<std::optional<UniqueDescriptor>> locked = OpenLocked(path + ".lock", /*wait=*/false);
  if (!locked.ok()) return locked.status();
  if (!locked.value()) return Status::Usage(taken);
  return LocalStateLock(std::move(*locked.value()));
}

}  // namespace headroom
