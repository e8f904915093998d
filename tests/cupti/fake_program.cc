// A program that uses a fake GPU. Loads the library in CUDA_INJECTION64_PATH as the driver does in
// cuInit. The fake libcupti runs the commands of the command line (fake_cupti.h). The program
// itself adds these commands:
//
//   load PATH   opens a library first, like a program that is linked with it
//   init        cuInit
//   nvtx        the first use of NVTX
//   wait MS     sleeps
//   region K    begins a region of headroom/timer.h with key K; endregion: ends it
//   step N      begins step N; endstep: ends it
//   fork        forks a child that exits normally, and waits for it
//   late        runs the remaining commands on a separate thread
//   as NAME     runs the remaining commands on a thread with this name
//   exit N, kill
//
// If the driver or the fake cannot run a command, prints an error on stderr and exits with 70.
#include <dlfcn.h>
#include <headroom/timer.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "fake_cupti.h"

namespace {

[[noreturn]] void Fail(const std::string& why) {
  std::fprintf(stderr, "fake_program: %s\n", why.c_str());
  std::_Exit(70);
}

template <typename Function>
Function InjectionEntry(const char* variable, const char* symbol) {
  const char* path = std::getenv(variable);
  if (path == nullptr) return nullptr;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) Fail(dlerror());
  return reinterpret_cast<Function>(dlsym(library, symbol));
}

void InitializeDriver() {
  const auto initialize = InjectionEntry<int (*)()>("CUDA_INJECTION64_PATH", "InitializeInjection");
  if (initialize == nullptr) return;
  if (initialize() != 1) Fail("InitializeInjection refuses, which fails cuInit");
}

void InitializeNvtx() {
  const auto initialize =
      InjectionEntry<int (*)(void*)>("NVTX_INJECTION64_PATH", "InitializeInjectionNvtx2");
  if (initialize != nullptr) initialize(nullptr);
}

/// The fake, if the injection library or the program has opened it.
FakeCuptiDoFunction TheFake() {
  for (const char* name : {"libcupti.so.13", "libcupti.so.11.2"}) {
    void* fake = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    if (fake != nullptr) return reinterpret_cast<FakeCuptiDoFunction>(dlsym(fake, "FakeCuptiDo"));
  }
  return nullptr;
}

void Run(const std::vector<std::string>& words) {
  headroom_token region = 0, step = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto argument = [&]() -> const std::string& {
      if (i + 1 == words.size()) Fail(word + " needs a value");
      return words[++i];
    };
    if (word == "load") {
      if (dlopen(argument().c_str(), RTLD_NOW) == nullptr) Fail(dlerror());
    } else if (word == "init") {
      InitializeDriver();
    } else if (word == "nvtx") {
      InitializeNvtx();
    } else if (word == "wait") {
      usleep(static_cast<useconds_t>(std::stoul(argument()) * 1000));
    } else if (word == "region") {
      region = headroom_begin(argument().c_str());
    } else if (word == "endregion") {
      headroom_end(region);
    } else if (word == "step") {
      step = headroom_begin_step(std::stol(argument()));
    } else if (word == "endstep") {
      headroom_end(step);
    } else if (word == "fork") {
      const pid_t child = fork();
      if (child == 0) std::exit(0);
      int status = 0;
      if (waitpid(child, &status, 0) != child || status != 0) Fail("the child failed");
    } else if (word == "late" || word == "as") {
      const std::string name = word == "as" ? argument() : "";
      const std::vector<std::string> rest(words.begin() + static_cast<long>(i) + 1, words.end());
      std::thread([&] {
        if (!name.empty()) pthread_setname_np(pthread_self(), name.c_str());
        Run(rest);
      }).join();
      return;
    } else if (word == "exit") {
      std::exit(std::stoi(argument()));
    } else if (word == "kill") {
      raise(SIGKILL);
    } else {
      const FakeCuptiDoFunction fake = TheFake();
      const bool has_number =
          i + 1 < words.size() && std::strspn(words[i + 1].c_str(), "0123456789") > 0;
      const std::uint64_t number = has_number ? std::stoull(words[i + 1]) : 1;
      if (has_number) ++i;
      // Without CUPTI the program continues, and kernels are not reported.
      if (fake != nullptr && fake(word.c_str(), number) == 0) Fail("unknown command " + word);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Run(std::vector<std::string>(argv + 1, argv + argc));
  return 0;
}
