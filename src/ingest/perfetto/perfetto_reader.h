// Reader for traces in Perfetto's protobuf format: our own recordings (docs/recording.md), and what
// other tools write in it, such as rocprofv3.
//
// Supported: track events (slices, instants, counters, extra counters; interned or inline names;
// legacy phases B, E, X and I), GPU render stages, clock snapshots, packets compressed in packets.
// Not kept: arrows, call stacks, legacy asynchronous events. Other data (ftrace, heap profiles,
// ...) is counted in the import log.
//
// One thread, one pass: a packet is found, its sequence's state gives its names, and it becomes a
// row at once. Slices are closed when their end comes; tracks and streams are settled at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/trace_store.h"

namespace headroom::perfetto {

struct ReadOptions {
  int threads = 1;  ///< Of freezing the store, from 1 up; the result does not depend on it.
  /// Bytes read at a time; any value from 1 up. The result does not depend on it.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  /// Larger packets count as damage, to bound memory. From 1 up.
  std::int64_t max_packet_bytes = std::int64_t{64} << 20;
  /// Of packets compressed in packets, of events, and of texts that events refer to.
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

}  // namespace headroom::perfetto
