#include "analysis/steps/misplaced.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/names/host_rules.h"
#include "base/interval_set.h"

namespace headroom {
namespace {

/// At most 1/100 of the tasks may be misplaced. With more, the rule does not apply.
constexpr std::size_t kFew = 100;

bool IsFew(std::size_t misplaced, std::size_t all) {
  constexpr std::size_t kMinToTell = 3;  // With two tasks, it is unclear which is wrong.
  return all >= kMinToTell && (misplaced == 1 || misplaced * kFew <= all);
}

/// Tasks that one process launched individually on one stream.
struct Queue {
  const TraceStore& store;
  std::vector<GpuTaskId> tasks;  ///< By start.

  TimeNs LaunchStart(std::size_t i) const {
    return store.host_events.start[store.gpu_tasks.launch[tasks[i].index()].index()];
  }
  /// Returns true if the launch of `a` ended before that of `b` began.
  bool LaunchedBefore(std::size_t a, std::size_t b) const {
    return store.HostEnd(store.gpu_tasks.launch[tasks[a].index()]) + store.HostTolerance() <=
           LaunchStart(b);
  }
};

/// Returns the longest sequence of tasks that ran in the order of their launches, as positions in
/// the queue.
std::vector<std::size_t> LongestInOrder(const Queue& queue) {
  constexpr std::size_t kFirst = SIZE_MAX;
  std::vector<std::size_t> last;  // By length - 1: the earliest launched last task of a sequence.
  std::vector<std::size_t> before(queue.tasks.size(), kFirst);
  for (std::size_t i = 0; i < queue.tasks.size(); ++i) {
    const TimeNs launch = queue.LaunchStart(i);
    const auto at = std::upper_bound(
        last.begin(), last.end(), launch,
        [&](TimeNs when, std::size_t other) { return when < queue.LaunchStart(other); });
    if (at != last.begin()) before[i] = *(at - 1);
    if (at == last.end()) {
      last.push_back(i);
    } else {
      *at = i;
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t i = last.empty() ? kFirst : last.back(); i != kFirst; i = before[i])
    order.push_back(i);
  std::reverse(order.begin(), order.end());
  return order;
}

void FindOutOfOrder(const Queue& queue, std::vector<GpuTaskId>& misplaced) {
  const std::size_t n = queue.tasks.size();
  bool sorted = true;
  for (std::size_t i = 1; sorted && i < n; ++i)
    sorted = queue.LaunchStart(i - 1) <= queue.LaunchStart(i);
  if (sorted) return;
  const std::vector<std::size_t> order = LongestInOrder(queue);
  std::vector<GpuTaskId> found;
  std::size_t passed = 0;  // Number of entries of `order` before i.
  for (std::size_t i = 0; i < n; ++i) {
    if (passed < order.size() && order[passed] == i) {
      ++passed;
      continue;
    }
    const bool late = passed > 0 && queue.LaunchedBefore(i, order[passed - 1]);
    const bool early = passed < order.size() && queue.LaunchedBefore(order[passed], i);
    if (late || early) found.push_back(queue.tasks[i]);
  }
  if (IsFew(found.size(), n)) misplaced.insert(misplaced.end(), found.begin(), found.end());
}

/// Maximum difference between the clocks of host and GPU: profilers align them to a few
/// microseconds.
constexpr DurationNs kClockError(100'000);

/// Returns the process that launched a task, or None() for an orphan.
ProcessId LauncherOf(const TraceStore& store, GpuTaskId task) {
  const HostEventId launch = store.gpu_tasks.launch[task.index()];
  if (!launch.valid()) return ProcessId::None();
  return store.threads.process[store.host_events.thread[launch.index()].index()];
}

/// Finds tasks that were launched before a call that waited for the whole device, but start after
/// it. Skips processes with several devices, because the device of a wait is unknown.
void FindBehindWaits(const TraceStore& store, NameFacts& names, std::vector<GpuTaskId>& misplaced) {
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  std::map<ProcessId, std::vector<Interval>> waits;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (names.Roles(events.name[row]).Has(HostRole::kDeviceSync)) {
      waits[store.threads.process[events.thread[row].index()]].push_back(
          {events.start[row], store.HostEnd(HostEventId(row))});
    }
  }
  for (auto& [process, of_process] : waits) {
    std::sort(of_process.begin(), of_process.end(),
              [](const Interval& a, const Interval& b) { return a.start < b.start; });
    // Now `end` is the earliest end among this and all later calls.
    for (std::size_t i = of_process.size() - 1; i > 0; --i)
      of_process[i - 1].end = std::min(of_process[i - 1].end, of_process[i].end);
    std::vector<GpuTaskId> found;
    std::set<DeviceId> devices;
    std::size_t launched = 0;
    for (std::size_t i = 0; i < tasks.rows(); ++i) {
      if (LauncherOf(store, GpuTaskId(i)) != process) continue;
      ++launched;
      devices.insert(store.DeviceOf(GpuTaskId(i)));
      const TimeNs given = store.HostEnd(tasks.launch[i]) + store.HostTolerance();
      const auto wait =
          std::partition_point(of_process.begin(), of_process.end(),
                               [&](const Interval& call) { return call.start < given; });
      if (wait != of_process.end() && wait->end + kClockError < tasks.start[i])
        found.emplace_back(i);
    }
    if (devices.size() == 1 && IsFew(found.size(), launched))
      misplaced.insert(misplaced.end(), found.begin(), found.end());
  }
}

/// Finds tasks that start before their launch by more than the two clocks can differ.
void FindBeforeLaunch(const TraceStore& store, std::vector<GpuTaskId>& misplaced) {
  const auto& tasks = store.gpu_tasks;
  std::vector<GpuTaskId> found;
  std::size_t joined = 0;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (!tasks.launch[i].valid()) continue;
    ++joined;
    if (tasks.start[i] + kClockError < store.host_events.start[tasks.launch[i].index()])
      found.emplace_back(i);
  }
  if (IsFew(found.size(), joined)) misplaced.insert(misplaced.end(), found.begin(), found.end());
}

/// Returns the task at a position, or None().
GpuTaskId At(const std::vector<GpuTaskId>& tasks, std::size_t at) {
  return at < tasks.size() ? tasks[at] : GpuTaskId::None();
}

/// Fills in the positions of a queue's misplaced tasks. Requires that `misplaced` is sorted.
void Locate(const Queue& queue, std::span<const GpuTaskId> misplaced,
            std::vector<MisplacedTask>& out) {
  std::vector<std::size_t> wrong;
  Queue good{queue.store, {}};
  for (std::size_t i = 0; i < queue.tasks.size(); ++i) {
    if (std::binary_search(misplaced.begin(), misplaced.end(), queue.tasks[i])) {
      wrong.push_back(i);
    } else {
      good.tasks.push_back(queue.tasks[i]);
    }
  }
  if (wrong.empty()) return;
  std::vector<std::size_t> by_launch(good.tasks.size());
  for (std::size_t i = 0; i < by_launch.size(); ++i) by_launch[i] = i;
  std::stable_sort(by_launch.begin(), by_launch.end(), [&](std::size_t a, std::size_t b) {
    return good.LaunchStart(a) < good.LaunchStart(b);
  });
  std::vector<GpuTaskId> launched;
  launched.reserve(by_launch.size());
  for (const std::size_t i : by_launch) launched.push_back(good.tasks[i]);
  for (std::size_t k = 0; k < wrong.size(); ++k) {
    const std::size_t runs = wrong[k] - k;  // Correct tasks that start before it.
    const TimeNs launch = queue.LaunchStart(wrong[k]);
    const auto next =
        std::partition_point(by_launch.begin(), by_launch.end(),
                             [&](std::size_t other) { return good.LaunchStart(other) <= launch; });
    const auto at = static_cast<std::size_t>(next - by_launch.begin());
    out.push_back({.task = queue.tasks[wrong[k]],
                   .runs_after = At(good.tasks, runs - 1),
                   .runs_before = At(good.tasks, runs),
                   .launched_after = At(launched, at - 1),
                   .launched_before = At(launched, at)});
  }
}

}  // namespace

std::vector<MisplacedTask> FindMisplacedTasks(const TraceStore& store, NameFacts& names) {
  const auto& tasks = store.gpu_tasks;
  std::vector<GpuTaskId> misplaced;
  FindBeforeLaunch(store, misplaced);
  FindBehindWaits(store, names, misplaced);

  std::vector<Queue> queues;
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    std::map<ProcessId, Queue> of_stream;  // Ranks in one file may use the same stream numbers.
    for (const GpuTaskId task : store.TasksOf(StreamId(s))) {
      const HostEventId launch = tasks.launch[task.index()];
      if (!launch.valid()) continue;
      if (names.Roles(store.host_events.name[launch.index()]).Has(HostRole::kGraphLaunch)) continue;
      of_stream.try_emplace(LauncherOf(store, task), Queue{store, {}})
          .first->second.tasks.push_back(task);
    }
    for (auto& [process, queue] : of_stream) {
      std::stable_sort(queue.tasks.begin(), queue.tasks.end(), [&](GpuTaskId a, GpuTaskId b) {
        const auto key = [&](GpuTaskId task) {
          return std::tuple(tasks.start[task.index()],
                            store.host_events.start[tasks.launch[task.index()].index()]);
        };
        return key(a) < key(b);
      });
      FindOutOfOrder(queue, misplaced);
      queues.push_back(std::move(queue));
    }
  }
  if (misplaced.empty()) return {};
  std::sort(misplaced.begin(), misplaced.end());
  misplaced.erase(std::unique(misplaced.begin(), misplaced.end()), misplaced.end());
  std::vector<MisplacedTask> located;
  for (const GpuTaskId task : misplaced) {  // Tasks of graph launches are in no queue.
    const HostEventId launch = tasks.launch[task.index()];
    if (names.Roles(store.host_events.name[launch.index()]).Has(HostRole::kGraphLaunch))
      located.push_back({.task = task,
                         .runs_after = {},
                         .runs_before = {},
                         .launched_after = {},
                         .launched_before = {}});
  }
  for (const Queue& queue : queues) Locate(queue, misplaced, located);
  std::sort(located.begin(), located.end(),
            [](const MisplacedTask& a, const MisplacedTask& b) { return a.task < b.task; });
  return located;
}

}  // namespace headroom
