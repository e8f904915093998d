// Joins the tasks of a replayed graph to the operators that its capture recorded. A replay is one
// host call and names no operators.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/names/reference_data.h"
#include "store/trace_store.h"

namespace headroom {

/// A trace that holds captures. JoinCaptures() ignores one of another rank than the replaying
/// trace.
struct CaptureTrace {
  const TraceStore* store;
  /// Tokens or samples that its graphs process, if known. A server captures one graph per size and
  /// replays the next larger one.
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
/// A launch replays the capture whose kernels agree by name and number. If the captured launches do
/// not name their kernels, the sequence of kernels, copies and sets must be the same. That sequence
/// must be unique, and have matrix products where the capture's operators compute some.
///
/// The n-th kernel of a name is the n-th captured one. Identical captures, as of equal layers, are
/// replayed in turn. Operators lose their shapes if captures with other shapes match as well. Logs
/// kUnmatchedCapture in the store if none of `captures` matches.
///
/// Requires at most one call per store.
CaptureJoin JoinCaptures(TraceStore& store, const ReferenceData& reference,
                         std::span<const CaptureTrace> captures = {});

}  // namespace headroom
