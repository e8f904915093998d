// Parses the timeline's requests and answers them with TimelineAnswers.
#pragma once

#include <string>

#include "base/status.h"
#include "base/wanted.h"
#include "serve/query.h"
#include "serve/trace_session.h"

namespace headroom {

/// Parameters: `scenario` of a forecast.
Result<std::string> AskTimeline(TraceSession& session, Query& query, const IsWanted&);
/// Parameters: `level`, `index`, `tracks`, `scenario`.
Result<std::string> AskTile(TraceSession& session, Query& query, const IsWanted&);
/// Parameters: `lane`, `row`.
Result<std::string> AskSpan(TraceSession& session, Query& query, const IsWanted&);
/// Parameters: `text`.
Result<std::string> AskSearch(TraceSession& session, Query& query, const IsWanted&);
/// Parameters: `start`, `duration`, in ns.
Result<std::string> AskPlace(TraceSession& session, Query& query, const IsWanted&);
/// Parameters: `from`, `to`, in ns.
Result<std::string> AskRange(TraceSession& session, Query& query, const IsWanted&);

}  // namespace headroom
