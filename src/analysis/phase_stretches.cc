#include "analysis/phase_stretches.h"

#include <algorithm>
#include <tuple>

namespace headroom {
namespace {

struct Pass {
  Interval time;
  Phase phase;
};

bool IsPass(Phase phase) {
  return phase == Phase::kForward || phase == Phase::kBackward || phase == Phase::kOptimizer;
}

/// What begins a pass: events of a pass that are in none of the same kind.
std::vector<Pass> OutermostOf(const TraceStore& store, const Attribution& attribution,
                              ProcessId process) {
  const auto& events = store.host_events;
  std::vector<Pass> passes;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (store.threads.process[events.thread[row].index()] != process) continue;
    const Phase phase = attribution.Of(HostEventId(row)).phase;
    if (!IsPass(phase)) continue;
    const HostEventId parent = events.parent[row];
    if (parent.valid() && attribution.Of(parent).phase == phase) continue;
    passes.push_back({{events.start[row], store.HostEnd(HostEventId(row))}, phase});
  }
  std::sort(passes.begin(), passes.end(), [](const Pass& a, const Pass& b) {
    return std::tuple(a.time.start, a.time.end) < std::tuple(b.time.start, b.time.end);
  });
  return passes;
}

}  // namespace

PhaseStretches::PhaseStretches(const TraceStore& store, const Attribution& attribution,
                               ProcessId process) {
  std::optional<Pass> open;
  const auto close = [&] {
    if (!open) return;
    std::vector<Interval>& stretches = open->phase == Phase::kForward    ? forward_
                                       : open->phase == Phase::kBackward ? backward_
                                                                         : optimizer_;
    stretches.push_back(open->time);
  };
  for (const Pass& pass : OutermostOf(store, attribution, process)) {
    if (open && open->phase == pass.phase) {
      open->time.end = std::max(open->time.end, pass.time.end);
      continue;
    }
    // The other thread's pass may still run for a moment.
    if (open) open->time.end = std::min(open->time.end, pass.time.start);
    close();
    open = pass;
  }
  close();
}

const std::vector<Interval>& PhaseStretches::Of(Phase phase) const {
  return phase == Phase::kForward ? forward_ : phase == Phase::kBackward ? backward_ : optimizer_;
}

std::optional<Interval> PhaseStretches::NextThatEndsAfter(Phase phase, TimeNs time) const {
  const std::vector<Interval>& stretches = Of(phase);
  const auto next = std::upper_bound(stretches.begin(), stretches.end(), time,
                                     [](TimeNs t, const Interval& s) { return t < s.end; });
  if (next == stretches.end()) return std::nullopt;
  return *next;
}

std::optional<Interval> PhaseStretches::LastThatBeginsBy(Phase phase, TimeNs time) const {
  const std::vector<Interval>& stretches = Of(phase);
  const auto after = std::upper_bound(stretches.begin(), stretches.end(), time,
                                      [](TimeNs t, const Interval& s) { return t < s.start; });
  if (after == stretches.begin()) return std::nullopt;
  return *(after - 1);
}

}  // namespace headroom
