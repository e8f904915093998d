// Replays a plan in which tasks compete for channels: who goes next is decided when a channel is
// free, by its policy.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/plan.h"

namespace headroom {

/// Works out all moments that follow from what is known; then the channel that can begin a task
/// first begins one, and so on. Nothing that becomes ready later could have begun before, as long
/// as no lag is negative between tasks of channels, so no decision is ever taken back. Ties go to
/// the channel, the cycle and the task of the lowest number: the same plan gives the same times.
///
/// Without channels the moments are exactly the longest path's. O(V + E), and log of the tasks that
/// wait for a channel for each of its tasks.
class EventLoop {
 public:
  /// Replays cycles 0 to `cycles` - 1 together, as tasks of different cycles compete, too.
  ///
  /// @param moments  of cycle 0; then those of the next; before it most_cycles_back cycles of
  ///                 moments that never come
  void Run(const Plan& plan, int cycles, std::int64_t* moments);

  /// Of the last run: what ran on the channel until this task could start; -1: nothing. Tasks as
  /// cycle x tasks + task.
  std::int64_t HeldBackBy(std::int64_t instance) const {
    return held_back_by_[static_cast<std::size_t>(instance)];
  }

 private:
  struct Waiting {
    std::int64_t first;  ///< What it is chosen by, lowest first: then `second`, then its number.
    std::int64_t second;
    std::int64_t instance;
    bool operator>(const Waiting& other) const {
      if (first != other.first) return first > other.first;
      if (second != other.second) return second > other.second;
      return instance > other.instance;
    }
  };
  using Queue = std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>>;
  struct Channel {
    std::int64_t free_at = 0;
    std::int64_t last = -1;  ///< Instance that ran on it last.
    Queue coming;            ///< By the time at which they are ready.
    Queue ready;             ///< By policy; all ready when the channel is free.
  };

  void FindSuccessors(const Plan& plan);
  void CountWaits(const Plan& plan, int cycles);
  /// Settles everything that waits for nothing undecided any more.
  void Propagate(const Plan& plan, int cycles, std::int64_t* moments);
  void Settle(const Plan& plan, int cycles, std::int64_t instance, std::int64_t start,
              std::int64_t* moments);
  /// The channel that can begin a task first; false: none waits for any.
  bool BeginNext(const Plan& plan, int cycles, std::int64_t* moments);

  // Edges out of a task, [out_begin_[task], out_begin_[task + 1]): to which, how many cycles later.
  struct Successor {
    std::uint32_t task;
    std::int32_t cycles_later;
  };
  std::vector<std::uint32_t> out_begin_;
  std::vector<Successor> out_;
  std::vector<std::uint32_t> waits_;   ///< By instance: edges whose other end is not settled.
  std::vector<std::int64_t> settled_;  ///< Instances that wait for nothing, to be settled.
  std::vector<Channel> channels_;
  std::vector<std::int64_t> held_back_by_;
};

}  // namespace headroom
