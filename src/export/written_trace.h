// A trace written as a file that reads back as the same rows.
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

/// Perfetto's where a file is named .pftrace, .perfetto-trace or .pb (or those and .gz), else
/// Chrome's.
TraceFormat FormatOfName(std::string_view path);

struct WrittenTrace {
  AtomicFile file;  ///< Whole and closed, not yet in its place.
  std::int64_t events;
};

/// A trace that is to be looked at before it gets its name; compressed where `path` ends in ".gz".
/// kEnvironment where it cannot be written; fails as CheckWrittenTexts(). REQUIRES: `store` is
/// frozen.
Result<WrittenTrace> PrepareTrace(const TraceStore& store, TraceFormat format,
                                  const std::string& path, ExpansionLimit limit);

/// The same, in its place: whole or not there. How many events were written.
Result<std::int64_t> WriteTrace(const TraceStore& store, TraceFormat format,
                                const std::string& path, ExpansionLimit limit);

}  // namespace headroom
