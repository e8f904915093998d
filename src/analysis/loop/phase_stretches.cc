#include "analysis/loop/phase_stretches.h"

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

/// Returns the events that begin a pass: those inside no other event of the same pass.
std::map<ProcessId, std::vector<Pass>> OutermostOf(const TraceStore& store,
                                                   const Attribution& attribution) {
  const auto& events = store.host_events;
  std::map<ProcessId, std::vector<Pass>> passes;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const Phase phase = attribution.Of(HostEventId(row)).phase;
    if (!IsPass(phase)) continue;
    const HostEventId parent = events.parent[row];
    if (parent.valid() && attribution.Of(parent).phase == phase) continue;
    passes[store.threads.process[events.thread[row].index()]].push_back(
        {{events.start[row], store.HostEnd(HostEventId(row))}, phase});
  }
  for (auto& [process, of_process] : passes) {
    std::sort(of_process.begin(), of_process.end(), [](const Pass& a, const Pass& b) {
      return std::tuple(a.time.start, a.time.end) < std::tuple(b.time.start, b.time.end);
    });
  }
  return passes;
}

/// Merges successive passes of the same phase.
std::vector<Pass> Joined(const std::vector<Pass>& passes) {
  std::vector<Pass> joined;
  for (const Pass& pass : passes) {
    if (!joined.empty() && joined.back().phase == pass.phase) {
      joined.back().time.end = std::max(joined.back().time.end, pass.time.end);
      continue;
    }
    // The other thread's pass may still run when this pass begins.
    if (!joined.empty()) joined.back().time.end = std::min(joined.back().time.end, pass.time.start);
    joined.push_back(pass);
  }
  return joined;
}

}  // namespace

PassesOfProcesses::PassesOfProcesses(const TraceStore& store, const Attribution& attribution) {
  for (const auto& [process, passes] : OutermostOf(store, attribution)) {
    PhaseStretches& of_process = processes_[process];
    for (const Pass& pass : Joined(passes)) {
      std::vector<Interval>& stretches = pass.phase == Phase::kForward    ? of_process.forward_
                                         : pass.phase == Phase::kBackward ? of_process.backward_
                                                                          : of_process.optimizer_;
      stretches.push_back(pass.time);
    }
  }
}

const PhaseStretches& PassesOfProcesses::Of(ProcessId process) const {
  const auto found = processes_.find(process);
  return found == processes_.end() ? none_ : found->second;
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
