// Reader for XPlane profiles (`*.xplane.pb`), which JAX's and TensorFlow's profiler writes for XLA.
//
// Supported: planes of GPUs (their streams are GPU tasks, with grid, block, bytes and the operation
// that each kernel is of), planes of TPUs (innermost operations are tasks), threads of the host
// (Python frames, annotations, API calls, steps, allocations). Lines that are drawn from others
// ("XLA Ops" of a GPU, "Steps", name scopes) are kept as annotations of the device, never counted
// as work. Not kept: texts of programs, sums without times, planes of metrics.
//
// One thread, one pass over the planes. A plane's names stand behind its events, so the plane at
// hand is kept as bytes; its events are read in place.
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
  int threads = 1;  ///< Of freezing the store, from 1 up; the result does not depend on it.
  /// Bytes read ahead between planes; any value from 1 up. The result does not depend on it.
  std::size_t chunk_bytes = std::size_t{64} << 10;
  /// Larger events are skipped. From 1 up.
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Of events and names, and of texts that events refer to.
  ExpansionLimit expansion = {};
  /// Called after each plane with the compressed bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole stream into a store and freezes it. `path` is for messages only.
///
/// Damage is in the store's import log. Fails with kBadInput where the source fails, with
/// kEnvironment where memory runs out; then the store is of no use.
///
/// REQUIRES: `store` is empty.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::xplane
