// Effect of changes to a job on the memory of its steps.
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
  std::int64_t bytes = 0;  ///< Additional bytes at the peak.
  /// Peak with the change; nullopt if only the difference is known.
  std::optional<double> peak_bytes = {};
  bool workspace_uncertain = false;  ///< Applies to the changed peak (StepMemory).
};

/// Caches the models of the step, because a curve over batch sizes uses the same model repeatedly.
class MemoryDeltas {
 public:
  /// @param job  must outlive this object
  explicit MemoryDeltas(const Job& job) : job_(job) {}

  /// Returns the change's effect on tensors plus the bytes in the first argument. Returns nullopt
  /// if the change affects memory and the step's memory is unknown.
  std::optional<MemoryDelta> Of(std::int64_t beside, const MemoryChange& change);

 private:
  const std::optional<StepMemoryModel>& ModelWith(MemoryChange change);

  const Job& job_;
  /// Models by change, for any batch size.
  std::vector<std::pair<MemoryChange, std::optional<StepMemoryModel>>> models_;
};

}  // namespace headroom
