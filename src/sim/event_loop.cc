#include "sim/event_loop.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace headroom {
namespace {

/// The task of a moment, and the number of cycles back.
struct Source {
  std::size_t task;
  std::int32_t cycles_back;
};

Source SourceOf(std::int64_t from, std::int64_t moments) {
  std::int32_t back = 0;
  for (; from < 0; from += moments) ++back;
  return {.task = static_cast<std::size_t>(from / 2), .cycles_back = back};
}

}  // namespace

void EventLoop::FindSuccessors(const Plan& plan) {
  const PlanShape& shape = *plan.shape;
  const auto moments = static_cast<std::int64_t>(2 * plan.tasks());
  out_begin_.assign(plan.tasks() + 1, 0);
  for (std::size_t edge = 0; edge < plan.lag.size(); ++edge) {
    if (plan.lag[edge] > kNoEdge) ++out_begin_[SourceOf(shape.from[edge], moments).task + 1];
  }
  std::partial_sum(out_begin_.begin(), out_begin_.end(), out_begin_.begin());
  out_.resize(out_begin_.back());
  std::vector<std::uint32_t> filled(out_begin_.begin(), out_begin_.end() - 1);
  for (std::uint32_t task = 0; task < plan.tasks(); ++task) {
    for (std::uint32_t edge = shape.edge_begin[task]; edge < shape.edge_begin[task + 1]; ++edge) {
      if (plan.lag[edge] <= kNoEdge) continue;
      const Source source = SourceOf(shape.from[edge], moments);
      out_[filled[source.task]++] = {.task = task, .cycles_later = source.cycles_back};
    }
  }
}

void EventLoop::CountWaits(const Plan& plan, int cycles) {
  const std::size_t tasks = plan.tasks();
  waits_.assign(tasks * static_cast<std::size_t>(cycles), 0);
  for (const Successor& out : out_) {
    for (int cycle = out.cycles_later; cycle < cycles; ++cycle)
      ++waits_[static_cast<std::size_t>(cycle) * tasks + out.task];
  }
}

void EventLoop::Run(const Plan& plan, int cycles, std::int64_t* moments) {
  FindSuccessors(plan);
  CountWaits(plan, cycles);
  channels_.assign(plan.shape->channels.size(), {});
  held_back_by_.assign(waits_.size(), -1);
  settled_.clear();
  for (std::size_t instance = 0; instance < waits_.size(); ++instance) {
    if (waits_[instance] == 0) settled_.push_back(static_cast<std::int64_t>(instance));
  }
  do {
    Propagate(plan, cycles, moments);
  } while (BeginNext(plan, cycles, moments));
  assert(
      std::all_of(waits_.begin(), waits_.end(), [](std::uint32_t waits) { return waits == 0; }) &&
      "tasks wait for each other");
}

void EventLoop::Propagate(const Plan& plan, int cycles, std::int64_t* moments) {
  const PlanShape& shape = *plan.shape;
  const auto tasks = static_cast<std::int64_t>(plan.tasks());
  while (!settled_.empty()) {
    const std::int64_t instance = settled_.back();
    settled_.pop_back();
    const auto task = static_cast<std::size_t>(instance % tasks);
    const std::int64_t* const of_cycle = moments + instance / tasks * 2 * tasks;
    std::int64_t start = 0;
    for (std::uint32_t edge = shape.edge_begin[task]; edge < shape.edge_begin[task + 1]; ++edge) {
      if (plan.lag[edge] > kNoEdge)
        start = std::max(start, of_cycle[shape.from[edge]] + plan.lag[edge]);
    }
    if (shape.channel.empty() || shape.channel[task] == kNoChannel) {
      Settle(plan, cycles, instance, start, moments);
    } else {
      channels_[static_cast<std::size_t>(shape.channel[task])].coming.push(
          {.first = start, .second = 0, .instance = instance});
    }
  }
}

void EventLoop::Settle(const Plan& plan, int cycles, std::int64_t instance, std::int64_t start,
                       std::int64_t* moments) {
  const auto tasks = static_cast<std::int64_t>(plan.tasks());
  const auto task = static_cast<std::size_t>(instance % tasks);
  moments[2 * instance] = start;
  moments[2 * instance + 1] = start + plan.duration[task];
  for (std::uint32_t o = out_begin_[task]; o < out_begin_[task + 1]; ++o) {
    const std::int64_t cycle = instance / tasks + out_[o].cycles_later;
    if (cycle >= cycles) continue;
    const std::int64_t next = cycle * tasks + out_[o].task;
    if (--waits_[static_cast<std::size_t>(next)] == 0) settled_.push_back(next);
  }
}

bool EventLoop::BeginNext(const Plan& plan, int cycles, std::int64_t* moments) {
  const auto tasks = static_cast<std::int64_t>(plan.tasks());
  std::size_t next = channels_.size();
  std::int64_t at = 0;
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    const Channel& channel = channels_[c];
    if (channel.ready.empty() && channel.coming.empty()) continue;
    const std::int64_t begin = channel.ready.empty()
                                   ? std::max(channel.free_at, channel.coming.top().first)
                                   : channel.free_at;
    if (next != channels_.size() && begin >= at) continue;
    next = c;
    at = begin;
  }
  if (next == channels_.size()) return false;
  Channel& channel = channels_[next];
  for (; !channel.coming.empty() && channel.coming.top().first <= at; channel.coming.pop()) {
    const Waiting& came = channel.coming.top();
    const bool fifo = plan.shape->channels[next] == Policy::kFifo;
    const std::int64_t priority =
        fifo ? 0 : plan.shape->priority[static_cast<std::size_t>(came.instance % tasks)];
    channel.ready.push({.first = priority, .second = came.first, .instance = came.instance});
  }
  const Waiting begun = channel.ready.top();
  channel.ready.pop();
  if (begun.second < at) held_back_by_[static_cast<std::size_t>(begun.instance)] = channel.last;
  channel.last = begun.instance;
  channel.free_at = at + plan.duration[static_cast<std::size_t>(begun.instance % tasks)];
  Settle(plan, cycles, begun.instance, at, moments);
  return true;
}

}  // namespace headroom
