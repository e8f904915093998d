#include "cli/terminal/end_signals.h"

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <ctime>

#include "capture/metrics/board/clock.h"

namespace headroom::cli {

EndSignals::EndSignals() {
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

EndSignals::~EndSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void EndSignals::Wait() const {
  int signal = 0;
  sigwait(&signals_, &signal);
}

#ifdef __APPLE__
// macOS has no sigtimedwait().
bool EndSignals::Wait(TimeNs deadline) const {
  for (;;) {
    sigset_t pending;
    sigpending(&pending);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      if (sigismember(&pending, signal) != 1) continue;
      Wait();
      return true;
    }
    const std::int64_t left = (deadline - MonotonicNow()).ns();
    if (left <= 0) return false;
    constexpr std::int64_t kGlance = 50'000'000;
    const timespec pause{.tv_sec = 0, .tv_nsec = std::min(left, kGlance)};
    nanosleep(&pause, nullptr);
  }
}
#else
bool EndSignals::Wait(TimeNs deadline) const {
  for (;;) {
    const std::int64_t left = std::max<std::int64_t>(0, (deadline - MonotonicNow()).ns());
    constexpr std::int64_t kSecond = 1'000'000'000;
    const timespec timeout{.tv_sec = left / kSecond, .tv_nsec = left % kSecond};
    if (sigtimedwait(&signals_, nullptr, &timeout) > 0) return true;
    if (errno == EAGAIN) return false;  // EINTR: another signal's handler ran.
  }
}
#endif

}  // namespace headroom::cli
