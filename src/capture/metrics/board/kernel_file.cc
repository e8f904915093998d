#include "capture/metrics/board/kernel_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "capture/metrics/board/clock.h"

namespace headroom {
namespace {

constexpr std::size_t kFirstSize = 16 << 10;
/// A read that returns fewer bytes is the last one. The kernel fills a page per read and ends
/// between two records, such as lines of a table. No record is this long.
constexpr std::size_t kSurelyLast = 2048;

bool WillPass(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN ||
         error == EINTR || error == EIO || error == EBUSY;
}

}  // namespace

KernelFile::KernelFile(KernelFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      hold_(other.hold_),
      failed_(other.failed_) {}

void KernelFile::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

std::nullopt_t KernelFile::Failed(int error) {
  Close();
  failed_ = !WillPass(error);
  return std::nullopt;
}

std::optional<KernelFile::Text> KernelFile::Read(ReadBuffer& buffer) {
  if (failed_) return std::nullopt;
  if (descriptor_ < 0) {
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) return Failed(errno);
  }
  if (buffer.size() < kFirstSize) buffer.resize(kFirstSize);
  const TimeNs begin = MonotonicNow();
  std::size_t size = 0;
  for (;;) {
    if (size == buffer.size()) buffer.resize(2 * size);
    const ssize_t got =
        pread(descriptor_, buffer.data() + size, buffer.size() - size, static_cast<off_t>(size));
    if (got < 0) {
      if (errno == EINTR) continue;
      return Failed(errno);
    }
    size += static_cast<std::size_t>(got);
    if (got == 0 || static_cast<std::size_t>(got) < kSurelyLast) break;
  }
  const TimeNs end = MonotonicNow();
  if (!hold_) Close();
  return Text{std::string_view(buffer.data(), size), Middle(begin, end)};
}

}  // namespace headroom
