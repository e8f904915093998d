// The timeline's questions (TimelineAnswers), from their parameters.
#pragma once

#include <string>

#include "base/status.h"
#include "serve/query.h"
#include "serve/trace_session.h"

namespace headroom {

/// `scenario`: of a forecast.
Result<std::string> AskTimeline(TraceSession& session, Query& query);
/// `level`, `index`, `tracks`, `scenario`.
Result<std::string> AskTile(TraceSession& session, Query& query);
/// `lane`, `row`.
Result<std::string> AskSpan(TraceSession& session, Query& query);
/// `text`.
Result<std::string> AskSearch(TraceSession& session, Query& query);
/// `from`, `to`: in ns.
Result<std::string> AskRange(TraceSession& session, Query& query);

}  // namespace headroom
