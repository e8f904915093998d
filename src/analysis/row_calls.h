// The single calls behind a row of the kernel, operator or layer table: how they spread, and which
// took longest.
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
  /// Of the store's GPU tasks (kernels), else of its host events; the `id` that SQL has for it.
  std::int64_t id = 0;
  TimeNs start;                            ///< On the GPU (kernels), else on the host.
  DurationNs time;                         ///< As RowCalls says.
  std::optional<DurationNs> host;          ///< None: a kernel.
  std::optional<std::int64_t> step_index;  ///< None: in no step.
};

struct RowCalls {
  /// Whether times are GPU time; else they are the host's: no call gave the GPU work.
  bool of_gpu = true;
  std::int64_t count = 0;
  DurationNs min, p50, p90, p99, max;  ///< By nearest rank; calls without GPU work count as 0.
  std::vector<RowCall> slowest;        ///< Longest first; of equally long ones the earliest.
};

/// The calls that the row of that name counts; count is 0 where there is no such row.
///
/// @param trace  of `store`, with its attribution
/// @param most   of the slowest
RowCalls CallsOf(const TraceStore& store, NameFacts& names, const AnalyzedTrace& trace,
                 const TableScope& scope, CallTable table, std::string_view name,
                 std::size_t most = 10);

}  // namespace headroom
