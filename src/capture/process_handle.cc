#include "capture/process_handle.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace headroom {

ProcessHandle::ProcessHandle(std::int32_t pid)
    : pid_(pid), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

ProcessHandle::~ProcessHandle() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool ProcessHandle::IsAlive() const {
  if (descriptor_ < 0) return kill(pid_, 0) == 0 || errno == EPERM;
  pollfd ends{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return poll(&ends, 1, 0) == 0;
}

}  // namespace headroom
