// What a page that has no server can know.
#pragma once

#include <vector>

#include "base/status.h"
#include "report/html_report.h"
#include "serve/trace_session.h"

namespace headroom {

/// Answers to what the page asks before anything is set on it, and to each change alone: the same
/// that the server gives.
Result<std::vector<PageAnswer>> AnswersOfPage(TraceSession& session);

}  // namespace headroom
