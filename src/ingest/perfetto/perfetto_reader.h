// Reads traces in Perfetto's protobuf format: Headroom's recordings (docs/recording.md) and output
// of other tools, such as rocprofv3.
//
// - Supported: track events (slices, instants, counters, extra counters), with interned or inline
//   names and legacy phases B, E, X and I.
// - Also supported: GPU render stages, clock snapshots, packets compressed in packets.
// - Dropped: flow ids, call stacks, legacy asynchronous events.
// - Counted in the import log: other data, such as ftrace and heap profiles.
//
// Reads in one pass on one thread. Each event becomes a row immediately; the state of its sequence
// supplies its names. Slices are closed at their ends. Tracks and streams are resolved at the end
// of the file.
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
  int threads = 1;  ///< Threads for freezing the store, at least 1. Does not affect the result.
  /// Bytes per read, at least 1. Does not affect the result.
  std::size_t chunk_bytes = std::size_t{256} << 10;
  /// Larger packets count as damage, to bound memory. At least 1.
  std::int64_t max_packet_bytes = std::int64_t{64} << 20;
  /// Limits the data unpacked from compressed packets, events, and texts that events refer to.
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

}  // namespace headroom::perfetto
