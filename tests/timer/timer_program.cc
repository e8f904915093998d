// A program that record_test.cc records: timer_program COMMAND [ARGUMENT].
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <headroom/timer.hpp>
#include <string>
#include <thread>
#include <vector>

#include "c_program.h"

namespace {

std::uint64_t Now() { return headroom_impl_gettime(HEADROOM_IMPL_CLOCK_MONOTONIC); }

/// Times `regions` on each thread, 2 million per second. Does not make up for late regions.
void Paced(int threads, int regions) {
  std::vector<std::thread> workers;
  workers.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([regions] {
      for (int done = 0; done < regions; done += 1000) {
        const std::uint64_t next = Now() + 500'000;
        for (int j = 0; j < 1000; ++j) headroom::end(HEADROOM_BEGIN("paced"));
        while (Now() < next) {
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void Burst(int regions) {
  for (int i = 0; i < regions; ++i) {
    HEADROOM_SCOPE("outer");
    HEADROOM_SCOPE("inner");
  }
}

/// Counts up without end. The file `path` has the number up to which all regions have ended.
void Forever(const char* path) {
  std::FILE* file = std::fopen(path, "r+");
  if (file == nullptr) std::exit(1);
  void* address = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  if (address == MAP_FAILED) std::exit(1);
  for (std::uint64_t i = 1;; ++i) {
    {
      HEADROOM_SCOPE("forever");
      headroom::counter("i", static_cast<double>(i));
    }
    __atomic_store_n(static_cast<std::uint64_t*>(address), i, __ATOMIC_RELEASE);
    usleep(20);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  const int number = argc > 2 ? std::atoi(argv[2]) : 0;
  if (command == "paced") Paced(2, number);
  if (command == "burst") Burst(number);
  if (command == "forever") Forever(argv[2]);
  if (command == "c") TimeInC(number);
  if (command == "steps") {
    for (int i = number; i <= 1; ++i) headroom::Step step(i);
  }
  if (command == "threads") {
    for (int i = 0; i < number; ++i) std::thread([] { HEADROOM_SCOPE("short"); }).join();
  }
  if (command == "fork") {
    HEADROOM_SCOPE("before");
    if (fork() == 0) {
      { HEADROOM_SCOPE("child"); }
      _exit(headroom::stats("child").count == 1 && headroom::stats("before").count == 0 ? 0 : 1);
    }
    HEADROOM_SCOPE("parent");
  }
  const headroom::Drops drops = headroom::drops();
  std::printf("%d %llu %llu\n", headroom::enabled() ? 1 : 0,
              static_cast<unsigned long long>(headroom::stats("outer").count),
              static_cast<unsigned long long>(drops.ring));
  return 0;
}
