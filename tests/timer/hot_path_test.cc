// Tests that a region never allocates, locks, or calls the kernel. Counts and forbids these calls.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <headroom/timer.hpp>

#include "test_recorder.h"

namespace {
std::uint64_t allocations, locks;
}

// NOLINTBEGIN: names of the C library.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);

void* malloc(std::size_t bytes) { return ++allocations, __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) {
  return ++allocations, __libc_calloc(count, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  return ++allocations, __libc_realloc(memory, bytes);
}
int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real =
      reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  return ++locks, real(mutex);
}
}
// NOLINTEND

namespace headroom {
namespace {

void EveryKind(const Key& key) {
  const Step step(1);
  HEADROOM_SCOPE("hot");
  const Scope by_key(key), by_text("by text");
  mark("mark");
  counter("counter", 1);
  gradient("gradient", 4);
}

/// From here on, any system call except exit_group() ends the process.
void ForbidCallsOfTheKernel() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program = {sizeof rules / sizeof rules[0], rules};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(77);
}

/// Returns the exit status of a child that times 10,000 regions after a first one; 0: passed.
int InAChild() {
  const pid_t child = fork();
  if (child == 0) {
    const Key key("by key");
    EveryKind(key);
    const std::uint64_t allocated = allocations, locked = locks;
    ForbidCallsOfTheKernel();
    for (int i = 0; i < 10'000; ++i) EveryKind(key);
    _exit(allocations != allocated ? 1 : locks != locked ? 2 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(HotPathTest, TheCountersCount) {
  const std::uint64_t allocated = allocations, locked = locks;
  std::free(std::malloc(1));
  drops();
  EXPECT_GT(allocations, allocated);
  EXPECT_GT(locks, locked);
}

TEST(HotPathTest, NoAllocationNoLockNoCallOfTheKernel) {
  const int status = InAChild();
  if (status == 77) GTEST_SKIP() << "this machine has no seccomp filters";
  EXPECT_EQ(status, 0) << "1: allocated, 2: locked, negative: the kernel was called";
}

TEST(HotPathTest, NorWhenRecorded) {
  TestRecorder recorder;
  setenv("HEADROOM_SOCKET", recorder.Path().c_str(), 1);
  const int status = InAChild();
  unsetenv("HEADROOM_SOCKET");
  if (status == 77) GTEST_SKIP() << "this machine has no seccomp filters";
  EXPECT_EQ(status, 0) << "1: allocated, 2: locked, negative: the kernel was called";
  recorder.Drain();
  EXPECT_EQ(recorder.processes().at(0).rings.at(0).records.size(), 10'001 * (8 + 3 + 3));
}

}  // namespace
}  // namespace headroom
