// Writes the graph of a job as JSON lines (headroom.graph/1), for other programs. docs/engine.md
// describes the lines.
#pragma once

#include <string>

#include "whatif/job/job.h"

namespace headroom {

/// @param path  path of the trace, as the user named it
std::string RenderGraph(const Job& job, const std::string& path);

}  // namespace headroom
