// Reads the JSON that the PyTorch profiler (Kineto) and other writers of the Chrome trace format
// produce.
//
// Supports:
//
// - the object form ({"traceEvents": [...], ...}) and the bare array form
// - all categories of Kineto for NVIDIA and AMD, old and new
// - tracks of JAX and TensorFlow (xla_tracks.h)
// - phases X, B/E, b/e, S/F, i, C, s/t/f, M; others are kept as instants
//
// Ignores viewer settings (sort order, colour names). Repairs or skips damage and logs it, see
// store/import_log.h; reading resumes at the next event.
//
// Reading has two stages. The first cuts the file into pieces at apparent event starts, without
// scanning the text between them. In the second, each piece is scanned and turned into rows by one
// thread, and pieces are merged in file order. A cut is only a guess: unless the previous piece
// ends exactly there, the two pieces are scanned again as one. So the result never depends on
// pieces or threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/trace_store.h"

namespace headroom::kineto {

struct ReadOptions {
  int threads = 1;  ///< At least 1. Does not affect the result.
  /// Target size of a piece in bytes, at least 1. Does not affect the result.
  std::size_t piece_bytes = std::size_t{1} << 20;
  /// Larger events are skipped, to bound memory. At least 1.
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Called occasionally with the number of compressed bytes read so far; may be empty. Runs on the
  /// reader's threads, one call at a time, with a lock held. It should be quick, must not throw and
  /// must not call the reader.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole stream into a store and freezes it. `path` appears only in messages. Damage is
/// recorded in the store's import log.
///
/// Fails with kBadInput if the stream is not a trace or the source fails, and with kEnvironment if
/// memory runs out. After a failure the store is unusable. Requires an empty `store`.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::kineto
