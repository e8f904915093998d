#include "capture/recording_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace headroom {

Result<RecordingFile> RecordingFile::Create(const std::string& path, bool replace, Limits limits) {
  Result<PrivateFile> file = PrivateFile::Create(path, replace);
  if (!file.ok()) return file.status();
  return RecordingFile(path, std::move(file).value(), limits);
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
    const ssize_t n =
        pwrite(file_.descriptor(), pending_.data() + written, pending_.size() - written,
               bytes_ + static_cast<std::int64_t>(written));
    if (n > 0) {
      written += static_cast<std::size_t>(n);
    } else if (n < 0 && errno != EINTR) {
      trouble_ = std::strerror(errno);
      // A torn packet at the end would be read, and would be in the way of the next ones in other
      // readers. The next attempt writes it whole.
      if (ftruncate(file_.descriptor(), bytes_) != 0)
        trouble_ += "; the last packet in the file is torn";
      return;
    }
  }
  bytes_ += static_cast<std::int64_t>(pending_.size());
  pending_.clear();
}

}  // namespace headroom
