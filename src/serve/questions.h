// What one can ask of an open trace beside its report: each question by its name below /api/v1/.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "serve/query.h"
#include "serve/trace_session.h"

namespace headroom {

/// A question's answer, as JSON; fails with a sentence for the user.
using Question = Result<std::string> (*)(TraceSession& session, Query& query);

/// By name: `predict`, `scale`, `gpus`, `clusters` (docs/ui.md).
const std::map<std::string, Question>& Questions();

}  // namespace headroom
