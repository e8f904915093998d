// A predicted timeline as a trace file that our reader, Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "whatif/timeline.h"

namespace headroom {

/// Chrome JSON in the form of PyTorch's profiler. Spans that a scenario changed or inserted have
/// the argument `headroom` ("changed", "inserted"); calls and GPU tasks name their operator.
///
/// @param scenario  empty: the job as it is, without its profiler
std::string RenderTimeline(const Job& job, const Timeline& timeline, const std::string& scenario);

}  // namespace headroom
