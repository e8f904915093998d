// How much longer kernels take while a collective runs beside them, which takes some of the GPU's
// processors and of its memory's bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// From kernels that ran both ways. Quartiles over them, weighted by the time that they ran beside
/// a collective.
struct OverlapSlowdown {
  double low = 1, mid = 1, high = 1;  ///< Times as long.
  std::int64_t kernels = 0;           ///< By name, grid, block and shapes of their operator.

  /// Whether three of four kernels' time says so.
  bool is_told() const { return low > 1; }
};

/// Rows of the GPU tasks that are collectives.
using IsCollective = std::function<bool(std::size_t gpu_task)>;

/// When any collective runs.
IntervalSet TimeOfCollectives(const TraceStore& store, const IsCollective& is_collective);

/// Whether a task runs beside collectives all the time, or nearly.
bool IsBeside(Interval task, const IntervalSet& collectives);

/// Compares the medians of each kernel, where it ran at least three times alone, all within a tenth
/// of each other (the middle half), and twice beside a collective. nullopt: of fewer than five
/// kernels, which tells nothing.
std::optional<OverlapSlowdown> MeasureOverlapSlowdown(const TraceStore& store,
                                                      const IsCollective& is_collective);

}  // namespace headroom
