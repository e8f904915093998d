// Writes a predicted timeline as a trace file that Headroom, Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "whatif/timeline.h"

namespace headroom {

/// Returns Chrome JSON in the form of PyTorch's profiler. Spans that a scenario changed or inserted
/// have the argument `headroom` ("changed", "inserted"). Calls and GPU tasks name their operator.
///
/// @param scenario  scenario that made the timeline; empty for the unchanged job, without its
/// profiler
std::string RenderTimeline(const Job& job, const Timeline& timeline, const std::string& scenario);

}  // namespace headroom
