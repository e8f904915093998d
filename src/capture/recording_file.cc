#include "capture/recording_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace headroom {

Result<RecordingFile> RecordingFile::Create(const std::string& path, bool replace, Limits limits) {
  const auto create = [&] {
    return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  };
  int descriptor = create();
  if (descriptor < 0 && errno == EEXIST) {
    struct stat there {};
    if (lstat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
      return Status::Usage(fmt::format(
          "{} is there and is no plain file; a recording is never written through a link or into "
          "a device: name another file with -o",
          path));
    }
    if (!replace) {
      return Status::Usage(
          fmt::format("{} is there already; --force replaces it, -o names another file", path));
    }
    if (unlink(path.c_str()) == 0) descriptor = create();
  }
  if (descriptor < 0) {
    return Status::Internal(
        fmt::format("cannot create {}: {}; -o names a file elsewhere", path, std::strerror(errno)));
  }
  return RecordingFile(path, descriptor, limits);
}

RecordingFile::RecordingFile(RecordingFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      limits_(other.limits_),
      pending_(std::move(other.pending_)),
      bytes_(other.bytes_),
      lost_bytes_(other.lost_bytes_),
      trouble_(std::move(other.trouble_)) {}

RecordingFile::~RecordingFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

void RecordingFile::Append(std::string packets) {
  const auto size = static_cast<std::int64_t>(packets.size());
  if (full() || bytes_ + pending_bytes() + size > limits_.file_bytes ||
      pending_bytes() + size > limits_.pending_bytes) {
    lost_bytes_ += size;
    return;
  }
  if (pending_.empty()) {
    pending_ = std::move(packets);
  } else {
    pending_ += packets;
  }
}

void RecordingFile::Flush() {
  trouble_.clear();
  std::size_t written = 0;
  while (written < pending_.size()) {
    const ssize_t n = pwrite(descriptor_, pending_.data() + written, pending_.size() - written,
                             bytes_ + static_cast<std::int64_t>(written));
    if (n > 0) {
      written += static_cast<std::size_t>(n);
    } else if (n < 0 && errno != EINTR) {
      trouble_ = std::strerror(errno);
      // A torn packet at the end would be read, and would be in the way of the next ones in other
      // readers. The next attempt writes it whole.
      if (ftruncate(descriptor_, bytes_) != 0) trouble_ += "; the last packet in the file is torn";
      return;
    }
  }
  bytes_ += static_cast<std::int64_t>(pending_.size());
  pending_.clear();
}

}  // namespace headroom
