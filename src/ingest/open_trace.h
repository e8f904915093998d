// Opens a trace of any format that Headroom reads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/trace_store.h"

namespace headroom {

struct OpenOptions {
  int threads = 1;  ///< From 1 up; the result does not depend on it.
  ExpansionLimit expansion = {};
  /// Larger events are skipped and counted, to bound memory. From 1 up.
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Called with (bytes read, bytes in all) of the file on disk, the latter 0 for a pipe; may be
  /// empty. Called from the reader's threads, one at a time and with a lock held: it should be
  /// quick and must not throw.
  std::function<void(std::int64_t, std::int64_t)> progress = {};
};

/// Reads a whole trace file into a frozen store. Damage is in its import log; a Status means that
/// the file cannot be read or is no trace (kBadInput), or that memory ran out (kEnvironment), and
/// says so with the path and the remedy.
Result<std::unique_ptr<TraceStore>> OpenTrace(const std::string& path, const OpenOptions& options);

}  // namespace headroom
