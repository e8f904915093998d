// What would have avoided what is wrong with a trace, in terms of the tool that wrote it.
#pragma once

#include <string>

#include "store/import_log.h"
#include "store/trace_store.h"

namespace headroom {

/// What would have avoided an issue: flags of PyTorch's profiler are of no use to who recorded with
/// another tool. Empty: nothing.
std::string RemedyOf(ImportIssue issue, const TraceStore& store);

}  // namespace headroom
