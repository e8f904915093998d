// Processes for tests. Each is a thread of the test.
#pragma once

#include <barrier>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "distributed/communicator.h"

namespace headroom {

/// Runs `member` once per process, all at the same time.
inline void RunProcesses(int processes, const std::function<void(Communicator&)>& member) {
  struct Shared {
    explicit Shared(int of) : all(of), gathered(static_cast<std::size_t>(of)) {}
    std::barrier<> all;
    std::string word;
    std::vector<std::string> gathered;
  };
  class ThreadCommunicator : public Communicator {
   public:
    ThreadCommunicator(int process, Shared& shared) : process_(process), shared_(shared) {}
    int process() const override { return process_; }
    int processes() const override { return static_cast<int>(shared_.gathered.size()); }
    std::string Broadcast(std::string text) override {
      if (leads()) shared_.word = std::move(text);
      shared_.all.arrive_and_wait();
      std::string word = shared_.word;
      shared_.all.arrive_and_wait();
      return word;
    }
    std::vector<std::string> Gather(std::string text) override {
      shared_.gathered[static_cast<std::size_t>(process_)] = std::move(text);
      shared_.all.arrive_and_wait();
      std::vector<std::string> texts;
      if (leads()) texts = shared_.gathered;
      shared_.all.arrive_and_wait();
      return texts;
    }

   private:
    int process_;
    Shared& shared_;
  };
  Shared shared(processes);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(processes));
  for (int process = 0; process < processes; ++process) {
    threads.emplace_back([&, process] {
      ThreadCommunicator communicator(process, shared);
      member(communicator);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace headroom
