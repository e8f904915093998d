#include "graph/launch_queue.h"

#include <gtest/gtest.h>

namespace headroom {
namespace launch_queue_test {

constexpr TimeNs At(std::int64_t us) { return TimeNs(us * 1000); }

/// Returns launches 5 us apart on one stream, of kernels of 100 us, into a queue of `depth`.
std::vector<QueuedCommand> FillQueue(int count, int depth) {
  std::vector<QueuedCommand> commands;
  std::int64_t host = 0;
  for (int i = 0; i < count; ++i) {
    const std::int64_t start = host;
    // A launch returns when the task `depth` before it has started.
    std::int64_t end = start + 3;
    if (i >= depth) end = std::max<std::int64_t>(end, 10 + 100 * (i - depth));
    commands.push_back({StreamId(0u), At(start), At(end), At(10 + 100 * i)});
    host = end + 2;
  }
  return commands;
}

TEST(LaunchQueueTest, FindsTheDepthAndTheCallsThatWaited) {
  const std::vector<QueuedCommand> commands = FillQueue(1000, 400);
  const LaunchQueue queue = FindLaunchQueue(commands, kUsualQueueDepth);
  EXPECT_TRUE(queue.measured);
  EXPECT_NEAR(static_cast<double>(queue.depth), 400, 1);
  EXPECT_FALSE(queue.blocked[300]);
  EXPECT_TRUE(queue.blocked[600]);
}

TEST(LaunchQueueTest, WithoutSlowCallsTheUsualDepthHolds) {
  const LaunchQueue queue = FindLaunchQueue(FillQueue(300, 2000), kUsualQueueDepth);
  EXPECT_FALSE(queue.measured);
  EXPECT_EQ(queue.depth, kUsualQueueDepth);
  for (const bool blocked : queue.blocked) EXPECT_FALSE(blocked);
}

TEST(LaunchQueueTest, MoreWaitingThanTheUsualDepthMeansALongerQueue) {
  const LaunchQueue queue = FindLaunchQueue(FillQueue(2000, 5000), kUsualQueueDepth);
  EXPECT_EQ(queue.depth, 0);
}

TEST(LaunchQueueTest, EventRecordsTakePlacesAndStreamsHaveQueuesOfTheirOwn) {
  std::vector<QueuedCommand> commands = FillQueue(600, 5000);
  for (QueuedCommand& command : commands) command.task_start = At(100'000);
  // Adds as many launches on another stream, and as many event records on the first.
  std::vector<QueuedCommand> both;
  for (const QueuedCommand& command : commands) {
    both.push_back(command);
    both.push_back({StreamId(1u), command.call_start, command.call_end, At(100'000)});
    both.push_back({StreamId(0u), command.call_start, command.call_end, std::nullopt});
  }
  const LaunchQueue queue = FindLaunchQueue(both, kUsualQueueDepth);
  EXPECT_EQ(queue.depth, 0);  // 1,200 commands on the first stream exceed the default depth.
  both.erase(both.begin() + 1500, both.end());
  // 1,000 commands fit.
  EXPECT_EQ(FindLaunchQueue(both, kUsualQueueDepth).depth, kUsualQueueDepth);
}

TEST(LaunchQueueTest, NoCommands) {
  EXPECT_EQ(FindLaunchQueue({}, kUsualQueueDepth).depth, kUsualQueueDepth);
}

}  // namespace launch_queue_test
}  // namespace headroom
