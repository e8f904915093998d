// Opens a trace of any format that Headroom reads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "store/trace_store.h"

namespace headroom {

struct OpenOptions {
  int threads = 1;
  ExpansionLimit expansion;
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Called with (bytes read, bytes in all) of the file on disk; may be empty.
  std::function<void(std::int64_t, std::int64_t)> progress;
};

/// Reads a whole trace file into a frozen store. Damage is in its import log; a Status (kBadInput)
/// means that the file cannot be read or is no trace, and says so with the path and the remedy.
Result<std::unique_ptr<TraceStore>> OpenTrace(const std::string& path, const OpenOptions& options);

}  // namespace headroom
