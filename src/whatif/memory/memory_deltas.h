// What changes to a job do to the memory of its steps.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "whatif/job/job.h"
#include "whatif/memory/memory_change.h"
#include "whatif/memory/step_memory.h"

namespace headroom {

struct MemoryDelta {
  std::int64_t bytes = 0;                 ///< More at the peak.
  std::optional<double> peak_bytes = {};  ///< With the change; none: only the difference is known.
  bool workspace_uncertain = false;       ///< Of the changed peak (StepMemory).
};

/// Keeps the models of the step that it has made, as a curve over batch sizes asks for one of them
/// again and again.
class MemoryDeltas {
 public:
  /// @param job  outlives this
  explicit MemoryDeltas(const Job& job) : job_(job) {}

  /// nullopt where the change makes a difference and the step's memory is not known.
  ///
  /// @param beside  bytes that the change adds beside what follows from it
  std::optional<MemoryDelta> Of(std::int64_t beside, const MemoryChange& change);

 private:
  const std::optional<StepMemoryModel>& ModelWith(MemoryChange change);

  const Job& job_;
  /// By change, whatever its batch.
  std::vector<std::pair<MemoryChange, std::optional<StepMemoryModel>>> models_;
};

}  // namespace headroom
