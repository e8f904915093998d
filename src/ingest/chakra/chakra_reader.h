// Reads Chakra execution traces (MLCommons, `*.et`): nodes of work that depend on each other. In
// the file, the length of each message precedes it.
//
// - Output of `headroom export --to chakra`: every table is restored.
// - Output of other tools: host and GPU work with threads, streams, collectives, sizes, groups and
//   shapes. If a file does not state when work began, as most do not, the dependencies determine
//   the start. Outputs, values of inputs, and storage operations are dropped.
//
// Reads in one pass on one thread. Rows of work are made at the end, because nodes may be in any
// order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/trace_store.h"

namespace headroom::chakra {

struct ReadOptions {
  int threads = 1;  ///< Threads for freezing the store, at least 1. Does not affect the result.
  /// Bytes per read, at least 1. Does not affect the result.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  /// Larger nodes are skipped, to bound memory. At least 1.
  std::int64_t max_node_bytes = std::int64_t{64} << 20;
  /// Limits the number of nodes.
  ExpansionLimit expansion = {};
  /// Called occasionally with the number of compressed bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole stream into a store and freezes it. `path` appears only in messages. Damage is
/// recorded in the store's import log.
///
/// Fails with kBadInput if the source fails, and with kEnvironment if memory runs out. After a
/// failure the store is unusable. Requires an empty `store`.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::chakra
