// Joins what graphs replay to the operators that their captures recorded: a replay is one call of
// the host, and names no operators.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "analysis/names/reference_data.h"
#include "store/trace_store.h"

namespace headroom {

/// A trace that holds captures. Of another rank than the trace that replays, it is left aside.
struct CaptureTrace {
  const TraceStore* store;
  /// Tokens or samples that its graphs are for, where that is known: a server captures one graph
  /// for each size and replays the next larger one.
  std::optional<std::int64_t> batch_size;
};

struct CaptureJoin {
  std::int64_t launches = 0, tasks = 0;  ///< Graph launches with GPU work, and that work.
  std::int64_t joined_launches = 0, joined_tasks = 0;
};

/// Gives each GPU task of a graph launch the operators, frames and layer ranges around the launch
/// that was captured for it (TraceStore::AddReplayed), from the captures of the trace itself and of
/// `captures`.
///
/// A launch is a replay of the capture whose kernels agree with its own by name and number; where
/// the captured launches do not name their kernels, of the only one whose sequence of kernels,
/// copies and sets is the same, with matrix products where its operators compute some. The n-th
/// kernel of a name is the n-th captured one. Captures alike, as of equal layers, are replayed in
/// turn. Operators lose their shapes where captures of other shapes fit as well. The store's log
/// gets a kUnmatchedCapture where no capture of `captures` fits.
///
/// REQUIRES: called at most once for a store.
CaptureJoin JoinCaptures(TraceStore& store, const ReferenceData& reference,
                         std::span<const CaptureTrace> captures = {});

}  // namespace headroom
