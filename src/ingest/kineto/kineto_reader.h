// Reader for the JSON that the PyTorch profiler (Kineto) and other writers of the Chrome trace
// format produce.
//
// Supported: the object form ({"traceEvents": [...], ...}) and the bare array form; all categories
// of Kineto for NVIDIA and AMD, old and new; tracks of JAX and TensorFlow (xla_tracks.h); phases X,
// B/E, i, C, s/t/f, M; others are kept as instants. Ignored: viewer settings (sort order, colour
// names). Damage is repaired or skipped and logged, see store/import_log.h; reading goes on at the
// next event.
//
// Two stages. Boundaries: the file is cut into pieces at places that look like the start of an
// event, without scanning what lies between. Meaning: each piece is scanned and turned into rows by
// one thread, and pieces are merged in file order. A cut is only a guess: the piece before it must
// end exactly there, or both are scanned again as one. So the result never depends on pieces or
// threads.
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
  int threads = 1;  ///< From 1 up; the result does not depend on it.
  /// Target size of a piece; any value from 1 up. The result does not depend on it.
  std::size_t piece_bytes = std::size_t{1} << 20;
  /// Larger events are skipped, to bound memory. From 1 up.
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Called now and then with the compressed bytes read so far; may be empty. Called from the
  /// reader's threads, one at a time and with a lock held: it should be quick, must not throw and
  /// must not call the reader.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole stream into a store and freezes it. `path` is for messages only.
///
/// Damage is in the store's import log. Fails with kBadInput where the stream is no trace at all or
/// the source fails, with kEnvironment where memory runs out; then the store is of no use.
///
/// REQUIRES: `store` is empty.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::kineto
