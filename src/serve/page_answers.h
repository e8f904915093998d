// Answers for a page without a server.
#pragma once

#include <vector>

#include "answers/report/html.h"
#include "base/status.h"
#include "serve/trace_session.h"

namespace headroom {

/// Returns the answers to the page's initial requests, and the forecast of each scenario. They
/// equal the server's answers.
///
/// @param is_wanted  once it returns false, fails (kNoAnswer)
Result<std::vector<PageAnswer>> AnswersOfPage(TraceSession& session,
                                              const IsWanted& is_wanted = AlwaysWanted);

}  // namespace headroom
