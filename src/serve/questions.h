// Requests about an open trace that the server answers, by name below /api/v1/.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "base/wanted.h"
#include "serve/query.h"
#include "serve/replies.h"
#include "serve/trace_session.h"

namespace headroom {

/// Returns the answer; fails with a sentence for the user.
///
/// @param is_wanted  once it returns false, the answer is not needed, and long computations stop
using Answer = Result<std::string> (*)(TraceSession& session, Query& query,
                                       const IsWanted& is_wanted);

struct Question {
  Answer answer = nullptr;
  const char* type = kJson;
  bool is_kept =
      true;  ///< The answer is expensive and therefore cached; else it is computed each time.
};

/// By name, such as `predict` or `timeline/tile` (docs/ui.md).
const std::map<std::string, Question>& Questions();

}  // namespace headroom
