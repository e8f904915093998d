// Remedies for the problems of a trace, in terms of the tool that recorded it.
#pragma once

#include <string>
#include <string_view>

#include "store/import_log.h"

namespace headroom {

/// Returns the setting or action that avoids an issue, for the format in which the trace was
/// recorded (TraceMetadata::recorded_as()). Flags of PyTorch's profiler do not help users of
/// another tool. Empty if there is no remedy.
std::string RemedyOf(ImportIssue issue, std::string_view format);

/// Returns the advice for a trace without steps: mark them, or name the range that begins a step.
std::string HowToTellSteps(std::string_view format);

}  // namespace headroom
