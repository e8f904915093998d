#include "whatif/job/host_speed.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/job/gradients.h"

namespace headroom {
namespace {

/// Minimum number of operators with one name for a median. Two steps of a small network have that
/// many.
constexpr std::size_t kEnough = 20;

/// Exponent of the correction. Below 1, because calls and Python slow down less than operators
/// without launches, and because a slow moment may also be a slow machine. On one H200 machine, all
/// exponents from 0.5 to 1 fit equally well. On a second one, 0.5 fits best: the mean error of 54
/// steps is 4.6 % with 0.5, 11.8 % with 0, and 5.4 % with 0.75.
constexpr double kPower = 0.5;
constexpr double kSlowest = 2.2, kFastest = 0.85;

/// Threads differ by up to this factor even if none is slowed down.
constexpr double kUsualDifference = 1.3;

/// Returns true for each event that contains an API call.
std::vector<bool> WithCalls(const TraceStore& store) {
  const auto& events = store.host_events;
  std::vector<bool> with(events.rows());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] != HostEventKind::kRuntimeCall &&
        events.kind[row] != HostEventKind::kDriverCall)
      continue;
    for (HostEventId around = events.parent[row]; around.valid() && !with[around.index()];
         around = events.parent[around.index()])
      with[around.index()] = true;
  }
  return with;
}

/// Durations of operators by thread and name, in nanoseconds.
using Durations = std::map<ThreadId, std::map<std::string_view, std::vector<std::int64_t>>>;

/// Returns the durations of operators for which `wanted(name)` is true, except in `left_out` rows.
template <typename Wanted>
Durations DurationsOf(const TraceStore& store, const std::vector<bool>& left_out, Wanted wanted) {
  const auto& events = store.host_events;
  Durations threads;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] != HostEventKind::kOperator || left_out[row]) continue;
    const std::string_view name = store.Text(events.name[row]);
    if (wanted(name)) threads[events.thread[row]][name].push_back(events.duration[row].ns());
  }
  return threads;
}

/// Returns the median durations of names with at least kEnough operators.
ReferenceSpeeds MediansOf(std::map<std::string_view, std::vector<std::int64_t>>& operators) {
  ReferenceSpeeds medians;
  for (auto& [name, durations] : operators) {
    if (durations.size() < kEnough) continue;
    const auto middle = durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    if (*middle > 0) medians.emplace(name, static_cast<double>(*middle));
  }
  return medians;
}

/// Returns the geometric mean over names of the ratios of medians to references; 0 if they share no
/// name.
double RatioOf(const ReferenceSpeeds& medians, const ReferenceSpeeds& reference) {
  double logs = 0;
  int names = 0;
  for (const auto& [name, usual] : reference) {
    const auto found = medians.find(name);
    if (found == medians.end()) continue;
    logs += std::log(found->second / usual);
    ++names;
  }
  return names == 0 ? 0 : std::exp(logs / names);
}

}  // namespace

ThreadSpeeds MedianDurations(const TraceStore& store, const ReferenceSpeeds& names) {
  ThreadSpeeds speeds;
  Durations threads = DurationsOf(store, WithCalls(store), [&](std::string_view name) {
    return name == kAccumulateGrad || names.contains(name);
  });
  for (auto& [thread, operators] : threads) {
    const bool backward = operators.contains(kAccumulateGrad);
    ReferenceSpeeds medians = MediansOf(operators);
    ReferenceSpeeds& of_part = backward ? speeds.autograd : speeds.loop;
    // Helper threads run few operators.
    if (medians.size() > of_part.size()) of_part = std::move(medians);
  }
  return speeds;
}

std::vector<bool> NotDispatch(const TraceStore& store, NameFacts& names) {
  const auto& events = store.host_events;
  std::vector<bool> inside(events.rows());
  std::vector<bool> has_parts(events.rows());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.parent[row].valid()) has_parts[events.parent[row].index()] = true;
  }
  // Parents precede their children.
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId parent = events.parent[row];
    if (parent.valid() && inside[parent.index()]) {
      inside[row] = true;
      continue;
    }
    const HostRoles roles = names.Roles(events.name[row]);
    inside[row] =
        roles.Has(HostRole::kDataWait) || roles.Has(HostRole::kCallback) ||
        roles.Has(HostRole::kSync) || roles.Has(HostRole::kDeviceSync) ||
        // A range without recorded calls: a request, a file, plain Python.
        (events.kind[row] == HostEventKind::kAnnotation && !has_parts[row] && roles == HostRoles());
  }
  return inside;
}

HostSpeed FindHostSpeed(const TraceStore& store, const Graph& graph,
                        const std::vector<bool>& not_dispatch, const Calibration& calibration) {
  std::vector<bool> left_out = WithCalls(store);
  for (std::size_t row = 0; row < left_out.size(); ++row)
    left_out[row] = left_out[row] || not_dispatch[row];
  for (const Task& task : graph.tasks) {
    if (!task.slow_work) continue;
    for (std::uint32_t p = task.pieces_begin; p < task.pieces_end; ++p) {
      if (graph.pieces[p].owner.valid()) left_out[graph.pieces[p].owner.index()] = true;
    }
  }
  Durations threads = DurationsOf(store, left_out, [&](std::string_view name) {
    return calibration.loop.contains(name) || calibration.autograd.contains(name);
  });
  HostSpeed speed;
  for (auto& [thread, operators] : threads) {
    const bool backward = operators.contains(kAccumulateGrad);
    const double ratio =
        RatioOf(MediansOf(operators), backward ? calibration.autograd : calibration.loop);
    if (ratio > 0) speed[thread] = ratio;
  }
  if (speed.empty()) return speed;
  const bool known = MachineOf(store) == calibration.machine;
  double usual = 1;
  if (!known) {
    usual = speed.begin()->second;
    for (const auto& [thread, ratio] : speed) usual = std::min(usual, ratio);
  }
  for (auto& [thread, ratio] : speed) {
    double slower = ratio / usual;
    if (!known && slower < kUsualDifference) slower = 1;
    ratio = std::pow(std::clamp(slower, kFastest, kSlowest), -kPower);
  }
  return speed;
}

void ScaleHostTime(const Graph& graph, const TraceStore& store,
                   const std::vector<bool>& not_dispatch, const HostSpeed& speed, Plan& plan) {
  // Python between two operators takes microseconds. Longer pieces are other work.
  constexpr DurationNs kLongStretch(200'000);
  if (speed.empty()) return;
  const auto factor = [&](ThreadId thread) {
    const auto found = speed.find(thread);
    return found == speed.end() ? 1.0 : found->second;
  };
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    const Task& recorded = graph.tasks[task];
    if (recorded.kind != TaskKind::kCall) continue;
    double all = 0, scaled = 0;
    for (std::uint32_t p = recorded.pieces_begin; p < recorded.pieces_end; ++p) {
      const HostPiece& piece = graph.pieces[p];
      const bool owned = piece.owner.valid();
      const HostEventKind kind =
          owned ? store.host_events.kind[piece.owner.index()] : HostEventKind::kOther;
      const bool of_framework = kind == HostEventKind::kOperator ||
                                kind == HostEventKind::kRuntimeCall ||
                                kind == HostEventKind::kDriverCall;
      const bool stays = (owned && not_dispatch[piece.owner.index()]) ||
                         (!of_framework && piece.length() > kLongStretch);
      all += static_cast<double>(piece.length().ns());
      scaled += static_cast<double>(piece.length().ns()) * (stays ? 1.0 : factor(piece.thread));
    }
    const double own = factor(store.host_events.thread[recorded.row]);
    std::int64_t& work = plan.lag[plan.shape->edge_begin[task]];
    work = std::llround(static_cast<double>(work) * (all > 0 ? scaled / all : own));
    plan.duration[task] = std::llround(static_cast<double>(plan.duration[task]) * own);
  }
}

}  // namespace headroom
