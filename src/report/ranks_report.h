// What `headroom report` says of several ranks on one clock.
#pragma once

#include <string_view>

#include "cluster/job_ranks.h"
#include "report/json_writer.h"

namespace headroom {

/// "recurrent", ...
std::string_view NameOf(StragglerPattern pattern);

/// The key `job_ranks`; null without `ranks`.
void WriteJobRanksJson(const JobRanks* ranks, JsonWriter& json);

}  // namespace headroom
