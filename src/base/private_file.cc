#include "base/private_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/atomic_file.h"

namespace headroom {
namespace {

/// Returns true for an empty private file of ours, such as one that a caller created to reserve the
/// name. Removing it would free the name for others.
bool IsReserved(const struct stat& info) {
  constexpr mode_t kPermissions = 07777;
  return S_ISREG(info.st_mode) && (info.st_mode & kPermissions) == 0600 &&
         info.st_uid == geteuid() && info.st_nlink == 1 && info.st_size == 0;
}

}  // namespace

Result<PrivateFile> PrivateFile::Create(const std::string& path, bool replace) {
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) {
    const bool link = S_ISLNK(info.st_mode);
    if (S_ISDIR(info.st_mode)) return CannotWrite(path, EISDIR);
    if (!link && !S_ISREG(info.st_mode)) {
      // O_NONBLOCK refuses to open a pipe without a reader, which would otherwise block.
      const int descriptor =
          open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
      if (descriptor < 0 && errno == ENXIO && S_ISFIFO(info.st_mode)) {
        return Status::Environment(
            fmt::format("cannot write {}: it is a pipe without a reader; name a file", path));
      }
      if (descriptor < 0) return CannotWrite(path, errno);
      fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
      return PrivateFile(path, descriptor);
    }
    if (!replace) {
      return Status::Usage(
          fmt::format("{} already exists{}; name another file, or pass --force to replace it", path,
                      link ? " (a symbolic link)" : ""));
    }
    if (IsReserved(info)) {
      const int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
      struct stat opened {};
      if (descriptor >= 0 && fstat(descriptor, &opened) == 0 && IsReserved(opened))
        return PrivateFile(path, descriptor);
      if (descriptor >= 0) close(descriptor);
    }
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return CannotWrite(path, errno);
  }
  // Fails if another process has created the name in the meantime.
  const int descriptor =
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0) return CannotWrite(path, errno);
  return PrivateFile(path, descriptor);
}

PrivateFile::PrivateFile(PrivateFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

PrivateFile::~PrivateFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status PrivateFile::Append(std::string_view content) {
  const int error = WriteAll(descriptor_, content);
  return error == 0 ? Status::Ok() : CannotWrite(path_, error);
}

}  // namespace headroom
