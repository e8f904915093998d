// The timeline's questions (TimelineAnswers), from their parameters.
#pragma once

#include <string>

#include "base/status.h"
#include "base/wanted.h"
#include "serve/query.h"
#include "serve/trace_session.h"

namespace headroom {

/// `scenario`: of a forecast.
Result<std::string> AskTimeline(TraceSession& session, Query& query, const IsWanted&);
/// `level`, `index`, `tracks`, `scenario`.
Result<std::string> AskTile(TraceSession& session, Query& query, const IsWanted&);
/// `lane`, `row`.
Result<std::string> AskSpan(TraceSession& session, Query& query, const IsWanted&);
/// `text`.
Result<std::string> AskSearch(TraceSession& session, Query& query, const IsWanted&);
/// `from`, `to`: in ns.
Result<std::string> AskRange(TraceSession& session, Query& query, const IsWanted&);

}  // namespace headroom
