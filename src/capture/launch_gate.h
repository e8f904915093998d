// Which GPU tasks belong to the steps that are wanted: --steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "capture/step_gate.h"

namespace headroom {

/// A GPU works behind its host, so the time of a task says little. Wanted are the tasks that were
/// launched in the wanted steps, whenever they run, and what earlier steps left in the queue: the
/// first wanted step begins where that ends.
///
/// Calls and tasks come in any order. Keeps the latest 65,536 launches: a GPU has far fewer queued.
class LaunchGate {
 public:
  /// @param steps  must outlive this, and know of each step before what it launched
  explicit LaunchGate(const StepGate* steps) : steps_(steps) {}

  void SawCall(std::string_view name, std::uint64_t start, std::uint32_t correlation);

  /// Whether a task is wanted; nullopt: that is up to its launch, which was not told yet.
  std::optional<bool> SawTask(std::uint64_t start, std::uint64_t end, std::uint32_t correlation);

  /// Launches in wanted steps of which no task has come.
  std::size_t awaited() const { return awaited_; }

 private:
  struct Launch {
    bool called = false, wanted = false;
    bool awaited = false, ran = false;
  };

  Launch& Of(std::uint32_t correlation);

  const StepGate* steps_;
  std::unordered_map<std::uint32_t, Launch> launches_;
  std::deque<std::uint32_t> order_;  ///< The oldest first.
  std::size_t awaited_ = 0;
};

}  // namespace headroom
