// Writes the key `job_ranks` of the report: several ranks on one clock.
#pragma once

#include "ranks/job_ranks.h"
#include "render/json_writer.h"

namespace headroom {

/// Writes the key `job_ranks`; null without `ranks`.
void WriteJobRanksJson(const JobRanks* ranks, JsonWriter& json);

}  // namespace headroom
