// What `headroom report` says of several ranks on one clock.
#pragma once

#include <string>
#include <string_view>

#include "cluster/job_ranks.h"
#include "report/json_writer.h"

namespace headroom {

/// "recurrent", ...
std::string_view NameOf(StragglerPattern pattern);

/// Who holds the others up, and what the job loses by it; two or three sentences.
std::string RanksVerdict(const JobRanks& job);

/// The key `job_ranks`; null without `ranks`.
void WriteJobRanksJson(const JobRanks* ranks, JsonWriter& json);

}  // namespace headroom
