// Refuses to write what would be far larger than the trace.
#pragma once

#include <string>

#include "base/status.h"
#include "ingest/input/expansion_limit.h"
#include "store/trace_store.h"

namespace headroom {

/// Fails as ExpansionLimit::CheckWritten() if the texts of all rows are too long. A recording holds
/// each text once; other formats have them in every row. O(rows).
///
/// @param path  the file that is to be written, for the message
Status CheckWrittenTexts(const TraceStore& store, const std::string& path, ExpansionLimit limit);

}  // namespace headroom
