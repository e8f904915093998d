// Reads XPlane profiles (`*.xplane.pb`), which JAX's and TensorFlow's profiler writes for XLA.
//
// - Planes of GPUs: streams become GPU tasks, with grid, block, bytes and the operation of each
//   kernel.
// - Planes of TPUs: the innermost operations become tasks.
// - Host threads: Python frames, annotations, API calls, steps, allocations.
// - Derived lines ("XLA Ops" of a GPU, "Steps", name scopes) become annotations of the device and
//   never count as work.
// - Program texts, sums without times, and planes of metrics are dropped.
//
// Reads in one pass over the planes on one thread. A plane's names follow its events, so the
// current plane is kept as bytes and its events are read in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/trace_store.h"

namespace headroom::xplane {

struct ReadOptions {
  int threads = 1;  ///< Threads for freezing the store, at least 1. Does not affect the result.
  /// Bytes read ahead between planes, at least 1. Does not affect the result.
  std::size_t chunk_bytes = std::size_t{64} << 10;
  /// Larger events are skipped. At least 1.
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Limits events and names, and texts that events refer to.
  ExpansionLimit expansion = {};
  /// Called after each plane with the number of compressed bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole stream into a store and freezes it. `path` appears only in messages. Damage is
/// recorded in the store's import log.
///
/// Fails with kBadInput if the source fails, and with kEnvironment if memory runs out. After a
/// failure the store is unusable. Requires an empty `store`.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::xplane
