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

/// A GPU runs behind its host, so a task's time does not show its step. Wanted tasks are those
/// launched in the wanted steps, at any run time. Tasks left in the queue by earlier steps are also
/// wanted: the first wanted step begins when they end.
///
/// Calls and tasks come in any order. Keeps the latest 65,536 launches; a GPU has far fewer queued.
class LaunchGate {
 public:
  /// @param steps  must outlive this; must know each step before its launches come
  explicit LaunchGate(const StepGate* steps) : steps_(steps) {}

  void SawCall(std::string_view name, std::uint64_t start, std::uint32_t correlation);

  /// Returns true if a task is wanted; nullopt if its launch decides but has not come yet.
  std::optional<bool> SawTask(std::uint64_t start, std::uint64_t end, std::uint32_t correlation);

  /// Launches in wanted steps whose task has not come yet.
  std::size_t awaited() const { return awaited_; }

 private:
  struct Launch {
    bool called = false, wanted = false;
    bool awaited = false, ran = false;
  };

  Launch& Of(std::uint32_t correlation);

  const StepGate* steps_;
  std::unordered_map<std::uint32_t, Launch> launches_;
  std::deque<std::uint32_t> order_;  ///< Oldest first.
  std::size_t awaited_ = 0;
};

}  // namespace headroom
