// Reader for Chakra execution traces (MLCommons, `*.et`): work as nodes that depend on each other,
// each message behind its length.
//
// Supported: what `headroom export --to chakra` writes, of which every table comes back; and what
// other tools write: work of the host and of GPUs, its threads and streams, collectives, sizes,
// groups and shapes. Such files seldom tell when work began: then it begins as its dependencies
// allow. Not kept: outputs, values of inputs, storage operations.
//
// One thread, one pass; rows of work are made at the end, as nodes may come in any order.
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
  int threads = 1;  ///< Of freezing the store, from 1 up; the result does not depend on it.
  /// Bytes read at a time; any value from 1 up. The result does not depend on it.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  /// Larger nodes are skipped, to bound memory. From 1 up.
  std::int64_t max_node_bytes = std::int64_t{64} << 20;
  /// Of nodes.
  ExpansionLimit expansion = {};
  /// Called now and then with the compressed bytes read so far; may be empty.
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

}  // namespace headroom::chakra
