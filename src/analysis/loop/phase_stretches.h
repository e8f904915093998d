// Times of a process's forward passes, backward passes and updates, on the host's clock.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analysis/names/attribution.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// The passes of one process in order of time. A pass lasts until another pass begins. A backward
/// pass counts once, regardless of its number of nodes. A step that accumulates gradients over two
/// batches has two backward passes.
class PhaseStretches {
 public:
  /// Returns the first pass of the phase that ends after the time, or nullopt.
  std::optional<Interval> NextThatEndsAfter(Phase phase, TimeNs time) const;
  /// Returns the last pass of the phase that begins at or before the time, or nullopt.
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

  /// Returns the passes of the process; empty if it runs none.
  const PhaseStretches& Of(ProcessId process) const;

 private:
  std::map<ProcessId, PhaseStretches> processes_;
  PhaseStretches none_;
};

}  // namespace headroom
