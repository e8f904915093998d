// What a page that has no server can know.
#pragma once

#include <vector>

#include "answers/report/html.h"
#include "base/status.h"
#include "serve/trace_session.h"

namespace headroom {

/// Answers to what the page asks before anything is set on it, and to each change alone: the same
/// that the server gives.
Result<std::vector<PageAnswer>> AnswersOfPage(TraceSession& session);

}  // namespace headroom
