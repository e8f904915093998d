#include "capture/recording_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

namespace headroom {

Result<RecordingFile> RecordingFile::Create(const std::string& path, bool replace, Limits limits) {
  Result<PrivateFile> file = PrivateFile::Create(path, replace);
  if (!file.ok()) return file.status();
  if (lseek(file.value().descriptor(), 0, SEEK_CUR) < 0 && errno == ESPIPE) {
    return Status::Environment(fmt::format(
        "cannot write {}: it is a pipe, so an incomplete packet could not be removed; name a "
        "regular file",
        path));
  }
  return RecordingFile(path, std::move(file).value(), limits);
}

namespace {

/// Returns the total length of the leading packets that lie completely within the first `limit`
/// bytes. A packet is a key of one byte, a length, and that number of bytes (docs/recording.md).
std::size_t WholePackets(std::string_view packets, std::size_t limit) {
  std::size_t end = 0;
  for (;;) {
    std::size_t at = end + 1, length = 0;
    for (int shift = 0; at < packets.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(packets[at++]);
      length |= std::size_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    if (at + length > std::min(limit, packets.size())) return end;
    end = at + length;
  }
}

}  // namespace

void RecordingFile::Append(std::string packets) {
  const std::int64_t room = full() ? 0
                                   : std::min(limits_.file_bytes - bytes_ - pending_bytes(),
                                              limits_.pending_bytes - pending_bytes());
  if (static_cast<std::int64_t>(packets.size()) > room) {
    const std::size_t kept =
        room > 0 ? WholePackets(packets, static_cast<std::size_t>(room)) : std::size_t{0};
    lost_bytes_ += static_cast<std::int64_t>(packets.size() - kept);
    packets.resize(kept);
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
        pwrite(file_->descriptor(), pending_.data() + written, pending_.size() - written,
               bytes_ + static_cast<std::int64_t>(written));
    if (n > 0) {
      written += static_cast<std::size_t>(n);
    } else if (n < 0 && errno != EINTR) {
      trouble_ = std::strerror(errno);
      break;
    }
  }
  const std::size_t whole = written == pending_.size() ? written : WholePackets(pending_, written);
  bytes_ += static_cast<std::int64_t>(whole);
  pending_.erase(0, whole);
  // Readers would parse an incomplete packet at the end, and some would misread the packets
  // appended later. The next attempt writes the whole packet.
  if (written > whole && ftruncate(file_->descriptor(), bytes_) != 0)
    trouble_ += "; the last packet in the file is incomplete";
}

}  // namespace headroom
