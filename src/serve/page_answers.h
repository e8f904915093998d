// Answers for a page without a server.
#pragma once

#include <vector>

#include "answers/report/html.h"
#include "base/status.h"
#include "serve/trace_session.h"

namespace headroom {

/// Returns the answers to the page's initial requests, and to each single change. They equal the
/// server's answers.
Result<std::vector<PageAnswer>> AnswersOfPage(TraceSession& session);

}  // namespace headroom
