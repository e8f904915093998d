// What would have avoided what is wrong with a trace, in terms of the tool that wrote it.
#pragma once

#include <string>
#include <string_view>

#include "store/import_log.h"

namespace headroom {

/// What would have avoided an issue, by the format in which the trace was recorded
/// (TraceMetadata::recorded_as()): flags of PyTorch's profiler are of no use to who recorded with
/// another tool. Empty: nothing.
std::string RemedyOf(ImportIssue issue, std::string_view format);

/// What somebody can do whose trace has no steps: mark them, or name what begins one.
std::string HowToTellSteps(std::string_view format);

}  // namespace headroom
