// Reader for PyTorch's memory snapshots: the pickle that torch.cuda.memory._dump_snapshot() writes.
//
// Read: `device_traces` (what the caching allocator did, in order, with call stacks) becomes
// memory_events and, of the stacks, host events; `segments` (what is there at the end) gives the
// totals, which the history is counted back from; `external_annotations` become annotations.
// Sizes are those asked for, before the allocator rounds them up. A free counts when it is asked
// for, as in the framework's own statistics; the block may wait longer for a stream.
// A snapshot without a history becomes one allocation a live block, all at one time.
//
// The format: torch/csrc/cuda/Module.cpp (memorySnapshot), documented in PyTorch's "Understanding
// CUDA Memory Usage".
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
  int threads = 1;  ///< Of freezing the store, from 1 up; the result does not depend on it.
  /// Bytes read at a time, from 1 up; the result does not depend on it.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Longer strings are left out, to bound memory. From 1 up.
  std::int64_t max_string_bytes = std::int64_t{64} << 20;
  /// Called now and then with the compressed bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole pickle into a store and freezes it. `path` is for messages only.
///
/// Damage is in the store's import log: all before it was kept. Fails with kBadInput where the
/// source fails or the pickle is no memory snapshot, with kEnvironment where memory runs out; then
/// the store is of no use.
///
/// REQUIRES: `store` is empty.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::memory_snapshot
