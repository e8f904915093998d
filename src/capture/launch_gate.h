// Selects the GPU tasks of the wanted steps: --steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "capture/step_gate.h"

namespace headroom {

/// GPU tasks run after their launch, so a task's time does not identify its step. Selects the tasks
/// launched in the wanted steps, regardless of when they run. Also selects queued tasks of earlier
/// steps that run in the window, because they delay the first wanted step.
///
/// Accepts calls and tasks in any order. Keeps the latest 65,536 launches, far more than a GPU
/// queues.
class LaunchGate {
 public:
  /// Requires that `steps` outlives this object and receives each step before the step's launches.
  explicit LaunchGate(const StepGate* steps) : steps_(steps) {}

  void SawCall(std::string_view name, std::uint64_t start, std::uint32_t correlation);

  /// Returns true if a task is wanted; nullopt if this depends on its launch, which is not reported
  /// yet.
  std::optional<bool> SawTask(std::uint64_t start, std::uint64_t end, std::uint32_t correlation);

  /// Number of launches in wanted steps whose task is not reported yet.
  std::size_t awaited() const { return awaited_; }

 private:
  struct Launch {
    bool called = false, wanted = false;
    bool awaited = false, ran = false;
  };

  Launch& Of(std::uint32_t correlation);

  const StepGate* steps_;
  std::unordered_map<std::uint32_t, Launch> launches_;
  std::deque<std::uint32_t> order_;  ///< Correlation ids, oldest first.
  std::size_t awaited_ = 0;
};

}  // namespace headroom
