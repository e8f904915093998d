// Refuses to write files that would be much larger than the trace.
#pragma once

#include <string>

#include "base/status.h"
#include "ingest/input/expansion_limit.h"
#include "store/trace_store.h"

namespace headroom {

/// Fails like ExpansionLimit::CheckWritten() if the strings of all rows are too long in total. A
/// recording stores each string once; other formats repeat it in every row. O(rows).
/// @param path  path of the file to write, for the error message
Status CheckWrittenTexts(const TraceStore& store, const std::string& path, ExpansionLimit limit);

}  // namespace headroom
