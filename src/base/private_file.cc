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

/// An empty file of ours alone: what somebody made to hold the name. While it is replaced, the name
/// would be free for others.
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
      // To open a pipe that nobody reads would wait, for ever maybe; O_NONBLOCK refuses.
      const int descriptor =
          open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
      if (descriptor < 0 && errno == ENXIO && S_ISFIFO(info.st_mode)) {
        return Status::Environment(
            fmt::format("cannot write {}: it is a pipe, and nobody reads it; name a file", path));
      }
      if (descriptor < 0) return CannotWrite(path, errno);
      fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
      return PrivateFile(path, descriptor);
    }
    if (!replace) {
      return Status::Usage(
          fmt::format("{} is there already{}; name another file, or replace it with "
                      "--force",
                      path, link ? " (a symbolic link)" : ""));
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
  // Whoever made something of that name meanwhile makes this fail.
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
