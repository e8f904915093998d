#include "graph/launch_queue.h"

#include <algorithm>
#include <cstdlib>

namespace headroom {
namespace {

/// A call that takes this long to issue a command into a deep queue has waited for space.
constexpr DurationNs kSlow{30'000};

/// Minimum length of a queue for which calls can wait.
constexpr std::int64_t kDeep = 256;

/// Minimum number of slow calls at about the same depth.
constexpr std::size_t kMinEvidence = 5;

/// The depths are computed from times of two clocks, so depths of one queue differ by a few
/// commands.
constexpr std::int64_t kCountingError = 8;

/// Returns the number of commands in the queue of each call's stream when the call returns.
std::vector<std::int64_t> CountWaiting(const std::vector<QueuedCommand>& commands) {
  std::size_t streams = 0;
  for (const QueuedCommand& command : commands)
    streams = std::max<std::size_t>(streams, command.stream.index() + 1);
  struct Launch {
    TimeNs start;
    std::int64_t number;  ///< Position among the commands of its stream, from 1.
  };
  std::vector<std::vector<Launch>> launches(streams);
  std::vector<std::int64_t> number(commands.size()), issued(streams);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::size_t stream = commands[i].stream.index();
    number[i] = ++issued[stream];
    if (commands[i].task_start) launches[stream].push_back({*commands[i].task_start, number[i]});
  }
  std::vector<std::size_t> next(streams);
  std::vector<std::int64_t> waiting(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    // Tasks of a stream start in order of launch.
    const std::size_t stream = commands[i].stream.index();
    std::size_t& taken = next[stream];
    while (taken < launches[stream].size() && launches[stream][taken].start <= commands[i].call_end)
      ++taken;
    waiting[i] = number[i] - (taken == 0 ? 0 : launches[stream][taken - 1].number);
  }
  return waiting;
}

}  // namespace

LaunchQueue FindLaunchQueue(const std::vector<QueuedCommand>& commands, std::int64_t usual_depth) {
  const std::vector<std::int64_t> waiting = CountWaiting(commands);
  std::vector<std::int64_t> slow;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    most = std::max(most, waiting[i]);
    if (commands[i].call_end - commands[i].call_start > kSlow && waiting[i] >= kDeep)
      slow.push_back(waiting[i]);
  }

  LaunchQueue queue;
  queue.depth = usual_depth;
  if (slow.size() >= kMinEvidence) {
    std::sort(slow.begin(), slow.end());
    const std::int64_t median = slow[slow.size() / 2];
    const auto near = std::count_if(slow.begin(), slow.end(), [&](std::int64_t depth) {
      return std::abs(depth - median) <= kCountingError;
    });
    if (2 * static_cast<std::size_t>(near) > slow.size()) {
      queue.depth = median;
      queue.measured = true;
    }
  }
  // More commands were queued without a wait, so this driver's queue is longer than the default.
  if (!queue.measured && most > queue.depth + queue.depth / 8) queue.depth = 0;

  queue.blocked.assign(commands.size(), false);
  if (queue.depth == 0 && slow.empty()) return queue;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const bool full = queue.depth > 0 && waiting[i] >= queue.depth - kCountingError;
    const bool held = commands[i].call_end - commands[i].call_start > kSlow && waiting[i] >= kDeep;
    queue.blocked[i] = full || held;
  }
  return queue;
}

}  // namespace headroom
