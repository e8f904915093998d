// When a process runs forward, backward and the update, on the host's clock.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analysis/names/attribution.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// The passes of one process in order of time. A stretch is as long as no other pass begins: one
/// backward is one stretch, however many nodes it has, and a step that accumulates gradients over
/// two batches has two of them.
class PhaseStretches {
 public:
  /// The first stretch of the phase that ends after the time; nullopt: none does.
  std::optional<Interval> NextThatEndsAfter(Phase phase, TimeNs time) const;
  /// The last stretch of the phase that begins at the time or before it; nullopt: none does.
  std::optional<Interval> LastThatBeginsBy(Phase phase, TimeNs time) const;

 private:
  friend class PassesOfProcesses;
  const std::vector<Interval>& Of(Phase phase) const;

  std::vector<Interval> forward_, backward_, optimizer_;  ///< Each ascending, without overlap.
};

/// The passes of all processes.
class PassesOfProcesses {
 public:
  PassesOfProcesses(const TraceStore& store, const Attribution& attribution);

  /// Without any, where the process runs none.
  const PhaseStretches& Of(ProcessId process) const;

 private:
  std::map<ProcessId, PhaseStretches> processes_;
  PhaseStretches none_;
};

}  // namespace headroom
