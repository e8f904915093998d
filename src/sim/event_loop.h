// Replays a plan in which tasks compete for channels. When a channel becomes free, its policy
// chooses the next task.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/plan.h"

namespace headroom {

/// Repeats two steps: computes all moments that follow from known moments, and begins a task on the
/// channel that can begin one first.
///
/// If no lag between channel tasks is negative, a task that becomes ready later could not have
/// begun earlier. Decisions are therefore final. In a tie, the lowest channel, cycle and task
/// number wins, so equal plans give equal times.
///
/// Without channels, the moments equal those of the longest path. O(V + E), plus for each channel
/// task the logarithm of the number of waiting tasks.
class EventLoop {
 public:
  /// Replays cycles 0 to `cycles` - 1 together, because tasks of different cycles also compete.
  ///
  /// @param moments  output: moments of cycle 0, followed by those of the later cycles, in ns.
  ///   REQUIRES: most_cycles_back cycles of moments that never happen precede this address.
  void Run(const Plan& plan, int cycles, std::int64_t* moments);

  /// Returns the instance that occupied the channel until this task could start in the last run;
  /// -1: none. An instance is cycle x tasks + task.
  std::int64_t HeldBackBy(std::int64_t instance) const {
    return held_back_by_[static_cast<std::size_t>(instance)];
  }

 private:
  struct Waiting {
    std::int64_t first;  ///< Sort key, lowest first; then `second`, then the instance.
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
    std::int64_t last = -1;  ///< Instance that ran last; -1: none.
    Queue coming;            ///< Tasks ordered by the time at which they become ready.
    Queue ready;             ///< Tasks ordered by policy; all are ready when the channel is free.
  };

  void FindSuccessors(const Plan& plan);
  void CountWaits(const Plan& plan, int cycles);
  /// Settles all tasks whose dependencies are settled.
  void Propagate(const Plan& plan, int cycles, std::int64_t* moments);
  void Settle(const Plan& plan, int cycles, std::int64_t instance, std::int64_t start,
              std::int64_t* moments);
  /// Begins a task on the channel that can begin one first. Returns false if no task waits.
  bool BeginNext(const Plan& plan, int cycles, std::int64_t* moments);

  // Edges out of a task are [out_begin_[task], out_begin_[task + 1]).
  struct Successor {
    std::uint32_t task;
    std::int32_t cycles_later;
  };
  std::vector<std::uint32_t> out_begin_;
  std::vector<Successor> out_;
  std::vector<std::uint32_t> waits_;  ///< By instance: number of edges from unsettled tasks.
  /// Instances without unsettled dependencies, to process next.
  std::vector<std::int64_t> settled_;
  std::vector<Channel> channels_;
  std::vector<std::int64_t> held_back_by_;
};

}  // namespace headroom
