// Writes a trace as a file that reads back as the same rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/atomic_file.h"
#include "base/status.h"
#include "ingest/input/expansion_limit.h"
#include "store/trace_store.h"

namespace headroom {

enum class TraceFormat {
  kChrome,    ///< JSON, as PyTorch's profiler writes it (chrome_events.h).
  kPerfetto,  ///< Perfetto's protobuf (perfetto_events.h).
};

/// Returns Perfetto's format for names that end in .pftrace, .perfetto-trace or .pb, also with .gz;
/// else Chrome's.
TraceFormat FormatOfName(std::string_view path);

struct WrittenTrace {
  AtomicFile file;  ///< Complete and closed, but not yet in place.
  std::int64_t events;
};

/// Writes a trace to a temporary file, so that callers can inspect the file before it gets its
/// name. Compresses it if `path` ends in ".gz". Fails with kEnvironment if it cannot write, or like
/// CheckWrittenTexts().
/// REQUIRES: `store` is frozen.
Result<WrittenTrace> PrepareTrace(const TraceStore& store, TraceFormat format,
                                  const std::string& path, ExpansionLimit limit);

/// Writes a trace to its path, completely or not at all. Returns the number of events. Fails like
/// PrepareTrace().
Result<std::int64_t> WriteTrace(const TraceStore& store, TraceFormat format,
                                const std::string& path, ExpansionLimit limit);

}  // namespace headroom
