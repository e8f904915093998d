// The individual calls behind a row of the kernel, operator or layer table: their distribution and
// the slowest calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/analyzed_trace.h"
#include "analysis/tables/tables.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

enum class CallTable { kKernels, kOperators, kLayers };

struct RowCall {
  /// Row of the store's GPU task (kernels) or host event. SQL uses the same `id`.
  std::int64_t id = 0;
  TimeNs start;                            ///< On the GPU for kernels, else on the host.
  DurationNs time;                         ///< GPU or host time, see RowCalls::of_gpu.
  std::optional<DurationNs> host;          ///< Null for a kernel.
  std::optional<std::int64_t> step_index;  ///< Null outside all steps.
};

struct RowCalls {
  /// True for GPU times. False for host times, if no call launched GPU work.
  bool of_gpu = true;
  std::int64_t count = 0;
  DurationNs min, p50, p90, p99, max;  ///< By nearest rank; calls without GPU work count as 0.
  std::vector<RowCall> slowest;        ///< Longest first, then earliest first.
};

/// Returns the calls that the table's row `name` counts; `count` is 0 if there is no such row.
///
/// @param trace  analysis of `store`, with its attribution
/// @param most   maximum number of slowest calls
RowCalls CallsOf(const TraceStore& store, NameFacts& names, const AnalyzedTrace& trace,
                 const TableScope& scope, CallTable table, std::string_view name,
                 std::size_t most = 10);

}  // namespace headroom
