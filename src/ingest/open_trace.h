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
  int threads = 1;  ///< At least 1. Does not affect the result.
  ExpansionLimit expansion = {};
  /// Larger events are skipped and counted, to bound memory. At least 1.
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Called with (bytes read, total bytes) of the file on disk; the total is 0 for a pipe. May be
  /// empty. Runs on the reader's threads, one call at a time, with a lock held. It should be quick
  /// and must not throw.
  std::function<void(std::int64_t, std::int64_t)> progress = {};
};

/// Reads a whole trace file into a frozen store and records damage in its import log. Fails with
/// kBadInput if the file is unreadable or not a trace, and with kEnvironment if memory runs out.
/// Messages state the path and what to do.
Result<std::unique_ptr<TraceStore>> OpenTrace(const std::string& path, const OpenOptions& options);

}  // namespace headroom
