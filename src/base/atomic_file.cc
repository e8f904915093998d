#include "base/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace headroom {

Status CannotWrite(const std::string& path, int error) {
  return Status::Environment(fmt::format("cannot write {}: {}", path, std::strerror(error)));
}

int WriteAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, std::optional<int> mode) {
  AtomicFile file;
  file.path_ = path;
  file.mode_ = mode.value_or(-1);
  struct stat info {};
  const bool exists = stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return Status::Environment(fmt::format("cannot write {}: it is a directory", path));
  if (exists && !S_ISREG(info.st_mode)) return file;
  if (exists) {
    // The rename must replace the file, not a link to it.
    const std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr),
                                                               &std::free);
    if (resolved) file.path_ = resolved.get();
    if (!mode) file.mode_ = static_cast<int>(info.st_mode & 07777);
  }
  // Uses the default permissions of a new file.
  file.descriptor_ = CreateUnfinished(file.path_ + '.', 0666, file.temporary_, file.unfinished_);
  if (file.descriptor_ < 0) return CannotWrite(path, errno);
  // Sets the permissions before the file has any content.
  if (file.mode_ >= 0 && fchmod(file.descriptor_, static_cast<mode_t>(file.mode_)) != 0)
    return CannotWrite(path, errno);
  return file;
}

Status AtomicFile::Append(std::string_view piece) {
  if (temporary_.empty()) {
    content_ += piece;
    return Status::Ok();
  }
  const int error = WriteAll(descriptor_, piece);
  return error == 0 ? Status::Ok() : CannotWrite(path_, error);
}

Status AtomicFile::Close() {
  if (temporary_.empty()) return Status::Ok();
  int error = 0;
  // Without fsync() the name could reach the disk before the content does.
  if (error == 0 && fsync(descriptor_) != 0) error = errno;
  // close() reports delayed failures (quota, network file systems).
  if (close(std::exchange(descriptor_, -1)) != 0 && error == 0) error = errno;
  return error == 0 ? Status::Ok() : CannotWrite(path_, error);
}

Result<AtomicFile> AtomicFile::Write(const std::string& path, std::string_view content,
                                     std::optional<int> mode) {
  Result<AtomicFile> file = Create(path, mode);
  if (!file.ok()) return file.status();
  if (Status status = file.value().Append(content); !status.ok()) return status;
  if (Status status = file.value().Close(); !status.ok()) return status;
  return file;
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      unfinished_(std::move(other.unfinished_)),
      content_(std::exchange(other.content_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      mode_(other.mode_) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status AtomicFile::Commit() {
  if (temporary_.empty()) {
    const int descriptor = open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return CannotWrite(path_, errno);
    int error = WriteAll(descriptor, content_);
    if (close(descriptor) != 0 && error == 0) error = errno;
    return error == 0 ? Status::Ok() : CannotWrite(path_, error);
  }
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return CannotWrite(path_, errno);
  temporary_.clear();
  unfinished_ = UnfinishedFile();
  return Status::Ok();
}

Result<bool> AtomicFile::CommitNew() {
  if (temporary_.empty()) return false;
  // Both calls fail if the name exists, whereas rename() would replace it. Some file systems
  // support only one.
  int error = link(temporary_.c_str(), path_.c_str()) == 0 ? 0 : errno;
  if (error == 0) {
    unlink(temporary_.c_str());
  } else if (error != EEXIST) {
#ifdef __APPLE__
    const int renamed = renamex_np(temporary_.c_str(), path_.c_str(), RENAME_EXCL);
#else
    const int renamed =
        renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE);
#endif
    error = renamed == 0 ? 0 : errno;
  }
  if (error == EINVAL || error == ENOSYS) {
    // Claims the name first, then replaces it.
    const int claimed = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    error = claimed < 0 ? errno : 0;
    if (claimed >= 0) close(claimed);
    if (error == 0 && std::rename(temporary_.c_str(), path_.c_str()) != 0) {
      error = errno;
      unlink(path_.c_str());
    }
  }
  if (error == EEXIST) return false;
  if (error != 0) return CannotWrite(path_, error);
  temporary_.clear();
  unfinished_ = UnfinishedFile();
  return true;
}

}  // namespace headroom
