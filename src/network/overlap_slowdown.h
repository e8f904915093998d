// Slowdown of kernels during collectives, which use some of the GPU's multiprocessors and memory
// bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Quartiles over kernels that ran both alone and during collectives, weighted by the time during
/// collectives.
struct OverlapSlowdown {
  double low = 1, mid = 1, high = 1;  ///< Factors on the kernel time.
  std::int64_t kernels =
      0;  ///< Number of distinct kernels, by name, grid, block and shapes of their operator.

  /// Returns true if at least three quarters of the kernels' time shows a slowdown.
  bool is_told() const { return low > 1; }
};

/// Returns true for rows of GPU tasks that are collectives.
using IsCollective = std::function<bool(std::size_t gpu_task)>;

/// Returns the time in which any collective runs.
IntervalSet TimeOfCollectives(const TraceStore& store, const IsCollective& is_collective);

/// Returns true if collectives run during all of the task, or nearly all.
bool IsBeside(Interval task, const IntervalSet& collectives);

/// Compares each kernel's median time during collectives with its median alone. A kernel counts if
/// it ran at least twice during a collective and at least three times alone. The middle half of its
/// times alone must differ by at most a tenth. Returns nullopt if fewer than five kernels count.
std::optional<OverlapSlowdown> MeasureOverlapSlowdown(const TraceStore& store,
                                                      const IsCollective& is_collective);

}  // namespace headroom
