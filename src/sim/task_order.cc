#include "sim/task_order.h"

#include <functional>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace headroom {

bool PutInOrder(EditedPlan& edited) {
  const PlanShape& old = *edited.plan.shape;
  const std::size_t tasks = edited.plan.tasks();
  const auto moments = static_cast<std::int64_t>(2 * tasks);
  std::vector<std::uint32_t> waits(tasks), out_begin(tasks + 1);
  for (std::size_t task = 0; task < tasks; ++task) {
    for (std::uint32_t e = old.edge_begin[task]; e < old.edge_begin[task + 1]; ++e) {
      if (old.from[e] < 0) continue;
      ++waits[task];
      ++out_begin[static_cast<std::size_t>(old.from[e] / 2) + 1];
    }
  }
  std::partial_sum(out_begin.begin(), out_begin.end(), out_begin.begin());
  std::vector<std::uint32_t> out(out_begin.back()), filled(out_begin.begin(), out_begin.end() - 1);
  for (std::size_t task = 0; task < tasks; ++task) {
    for (std::uint32_t e = old.edge_begin[task]; e < old.edge_begin[task + 1]; ++e) {
      if (old.from[e] >= 0)
        out[filled[static_cast<std::size_t>(old.from[e] / 2)]++] = static_cast<std::uint32_t>(task);
    }
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t task = 0; task < tasks; ++task) {
    if (waits[task] == 0) ready.push(task);
  }
  std::vector<std::uint32_t> order;
  order.reserve(tasks);
  while (!ready.empty()) {
    const std::uint32_t task = ready.top();
    ready.pop();
    order.push_back(task);
    for (std::uint32_t o = out_begin[task]; o < out_begin[task + 1]; ++o) {
      if (--waits[out[o]] == 0) ready.push(out[o]);
    }
  }
  if (order.size() < tasks) return false;
  std::vector<std::int64_t> place(tasks);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int64_t>(i);

  auto shape = std::make_shared<PlanShape>();
  shape->steps = old.steps;
  shape->most_cycles_back = old.most_cycles_back;
  shape->periodic = old.periodic;
  shape->channels = old.channels;
  EditedPlan sorted;
  sorted.channels = std::move(edited.channels);
  for (const std::uint32_t task : order) {
    shape->edge_begin.push_back(static_cast<std::uint32_t>(shape->from.size()));
    shape->gpu.push_back(old.gpu[task]);
    shape->step.push_back(old.step[task]);
    if (!old.channels.empty()) {
      shape->channel.push_back(old.channel[task]);
      shape->priority.push_back(old.priority[task]);
    }
    sorted.plan.duration.push_back(edited.plan.duration[task]);
    sorted.changed.push_back(edited.changed[task]);
    sorted.origin.push_back(edited.origin[task]);
    sorted.number.push_back(edited.number[task]);
    sorted.removed.push_back(edited.removed[task]);
    for (std::uint32_t e = old.edge_begin[task]; e < old.edge_begin[task + 1]; ++e) {
      std::int64_t from = old.from[e], back = 0;
      for (; from < 0; from += moments) ++back;
      shape->from.push_back(2 * place[static_cast<std::size_t>(from / 2)] + from % 2 -
                            back * moments);
      sorted.plan.lag.push_back(edited.plan.lag[e]);
    }
  }
  shape->edge_begin.push_back(static_cast<std::uint32_t>(shape->from.size()));
  sorted.plan.shape = std::move(shape);
  edited = std::move(sorted);
  return true;
}

}  // namespace headroom
