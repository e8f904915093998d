// Joins the tasks of a replayed graph to the operators that its capture recorded. A replay is one
// host call and names no operators.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/names/reference_data.h"
#include "store/trace_store.h"

namespace headroom {

/// A trace that holds captures. JoinCaptures() ignores a trace whose rank differs from that of the
/// replaying trace.
struct CaptureTrace {
  const TraceStore* store;
  /// Tokens or samples per launch of its graphs; null if unknown. A server captures one graph per
  /// batch size and replays the smallest one that fits.
  std::optional<std::int64_t> batch_size;
};

struct CaptureJoin {
  /// Number of graph launches with GPU work, and of the tasks in them.
  std::int64_t launches = 0, tasks = 0;
  std::int64_t joined_launches = 0, joined_tasks = 0;
};

/// Gives each GPU task of a graph launch the operators, frames and layer ranges around its captured
/// launch (TraceStore::AddReplayed). Uses the captures of the trace and of `captures`.
///
/// A launch replays the capture whose kernels agree in name and number. If the captured launches do
/// not name their kernels, the sequence of kernels, copies and memsets must be the same. All
/// captures with that sequence must have the same operators. At least half of the operators that
/// compute matrix products or convolutions must have such a kernel in the replay.
///
/// Matches the n-th kernel of a name with the n-th captured kernel of that name. Alternates between
/// identical captures, such as those of equal layers. Drops the operators' shapes if captures with
/// other shapes match as well. Logs kUnmatchedCapture in the store for launches that match no
/// capture.
///
/// Requires at most one call per store.
CaptureJoin JoinCaptures(TraceStore& store, const ReferenceData& reference,
                         std::span<const CaptureTrace> captures = {});

}  // namespace headroom
