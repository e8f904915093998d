// Reads PyTorch's memory snapshots: the pickle that torch.cuda.memory._dump_snapshot() writes.
//
// - `device_traces`, the history of the caching allocator with call stacks, becomes memory_events.
//   Its stacks become host events.
// - `segments`, the state at the end, gives the final totals. Subtracting the history from them
//   gives the initial totals.
// - `external_annotations` become annotations.
//
// Sizes are the requested ones, before the allocator rounds them up. A free counts when it is
// requested, as in the framework's statistics; the block may wait longer for a stream. A snapshot
// without a history becomes one allocation per live block, all at one time.
//
// Format: torch/csrc/cuda/Module.cpp (memorySnapshot), documented in PyTorch's "Understanding CUDA
// Memory Usage".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/trace_store.h"

namespace headroom::memory_snapshot {

struct ReadOptions {
  int threads = 1;  ///< Threads for freezing the store, at least 1. Does not affect the result.
  /// Bytes per read, at least 1. Does not affect the result.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Longer strings are dropped, to bound memory. At least 1.
  std::int64_t max_string_bytes = std::int64_t{64} << 20;
  /// Called occasionally with the number of compressed bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole pickle into a store and freezes it. `path` appears only in messages. Damage is
/// recorded in the store's import log; all data before it is kept.
///
/// Fails with kBadInput if the source fails or the pickle is not a memory snapshot, and with
/// kEnvironment if memory runs out. After a failure the store is unusable. Requires an empty
/// `store`.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::memory_snapshot
