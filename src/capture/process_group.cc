#include "capture/process_group.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGrace(5);
constexpr std::chrono::milliseconds kGlance(10);

/// Collects ended child processes of the group. Returns true if others still run.
bool AnyLeft() {
  pid_t ended = 0;
  do {
    ended = waitpid(0, nullptr, WNOHANG);
  } while (ended > 0);
  return ended == 0;
}

}  // namespace

void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void EndGroup() {
  if (getpgrp() != getpid() || !AnyLeft()) return;
  kill(0, SIGTERM);
  const Clock::time_point until = Clock::now() + kGrace;
  while (AnyLeft() && Clock::now() < until) std::this_thread::sleep_for(kGlance);
  // SIGTERM also reached this process, where it is blocked. Discards it.
  sigset_t own;
  sigemptyset(&own);
  sigaddset(&own, SIGTERM);
  const timespec none{};
  sigtimedwait(&own, nullptr, &none);
}

}  // namespace headroom
