#include "whatif/memory/memory_deltas.h"

#include <algorithm>
#include <cmath>

namespace headroom {

std::optional<MemoryDelta> MemoryDeltas::Of(std::int64_t beside, const MemoryChange& change) {
  if (change == MemoryChange()) return MemoryDelta{.bytes = beside, .peak_bytes = std::nullopt};
  // Uses `recorded` before the next call, because the vector of models may move when it grows.
  const std::optional<StepMemoryModel>& recorded = ModelWith({});
  if (!recorded) return std::nullopt;
  const StepMemory before = recorded->PeakAt(1);
  const std::optional<StepMemoryModel>& changed = ModelWith(change);
  if (!changed) return std::nullopt;
  const StepMemory after = changed->PeakAt(change.batch_ratio);
  return MemoryDelta{.bytes = beside + std::llround(after.peak_bytes - before.peak_bytes),
                     .peak_bytes = after.peak_bytes + static_cast<double>(beside),
                     .workspace_uncertain = after.workspace_uncertain};
}

const std::optional<StepMemoryModel>& MemoryDeltas::ModelWith(MemoryChange change) {
  change.batch_ratio = 1;
  const auto known = std::find_if(models_.begin(), models_.end(),
                                  [&](const auto& entry) { return entry.first == change; });
  if (known != models_.end()) return known->second;
  Result<StepMemoryModel> model = StepMemoryModel::Make(job_, change);
  models_.emplace_back(change, std::nullopt);
  if (model.ok()) models_.back().second = std::move(model.value());
  return models_.back().second;
}

}  // namespace headroom
