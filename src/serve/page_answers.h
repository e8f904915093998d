// Answers for a page without a server.
#pragma once

#include <vector>

#include "answers/report/html.h"
#include "base/status.h"
#include "serve/job_session.h"

namespace headroom {

/// Returns the answers to the page's initial requests, and the forecast of each scenario. They
/// equal the server's answers. Of a job of several ranks, these are answers of the rank that
/// represents it; of the others, returns reports and coarse timelines.
///
/// @param is_wanted  once it returns false, fails (kNoAnswer)
Result<std::vector<PageAnswer>> AnswersOfPage(JobSession& job,
                                              const IsWanted& is_wanted = AlwaysWanted);

}  // namespace headroom
