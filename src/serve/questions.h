// What one can ask of an open trace beside its report: each question by its name below /api/v1/.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "base/wanted.h"
#include "serve/query.h"
#include "serve/replies.h"
#include "serve/trace_session.h"

namespace headroom {

/// A question's answer; fails with a sentence for the user.
///
/// @param is_wanted  once it says no, the answer is void, and what takes long ends early
using Answer = Result<std::string> (*)(TraceSession& session, Query& query,
                                       const IsWanted& is_wanted);

struct Question {
  Answer answer = nullptr;
  const char* type = kJson;
  bool is_kept = true;  ///< Takes long, so that the answer is kept; else it is made each time.
};

/// By name: `predict`, `timeline/tile`... (docs/ui.md).
const std::map<std::string, Question>& Questions();

}  // namespace headroom
