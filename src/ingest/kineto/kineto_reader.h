// Reader for the JSON that the PyTorch profiler (Kineto) and other writers of the Chrome trace
// format produce.
//
// Supported: the object form ({"traceEvents": [...], ...}) and the bare array form; all categories
// of Kineto for NVIDIA and AMD, old and new; phases X, B/E, i, C, s/t/f, M; others are kept as
// instants. Ignored: viewer settings (sort order, colour names). Damage is repaired or skipped and
// logged, see store/import_log.h; reading goes on at the next event.
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
#include "ingest/byte_source.h"
#include "store/trace_store.h"

namespace headroom::kineto {

struct ReadOptions {
  int threads = 1;
  std::size_t piece_bytes = std::size_t{1} << 20;  ///< Target size of a piece; any value from 1 up.
  std::int64_t max_event_bytes = std::int64_t{64}
                                 << 20;  ///< Larger events are skipped, to bound memory.
  /// Called now and then with the compressed bytes read so far; may be empty. Not called
  /// concurrently.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole stream into an unfrozen store. `path` is for messages only.
/// Fails with kBadInput where the stream is no trace at all.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::kineto
