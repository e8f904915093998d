// Writes a job's profile as a small file for version control: format headroom.baseline/1, which
// compare/baseline_file.h reads.
#pragma once

#include <string>
#include <string_view>

#include "compare/job_profile.h"

namespace headroom {

/// Writes one row per line, in a stable order, so that a change of one figure changes one line.
std::string RenderBaseline(std::string_view name, const JobProfile& profile);

}  // namespace headroom
