// Requests about an open trace that the server answers, by name below /api/v1/.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "base/wanted.h"
#include "serve/job_session.h"
#include "serve/query.h"
#include "serve/replies.h"

namespace headroom {

/// Returns the answer; fails with a sentence for the user.
///
/// @param is_wanted  once it returns false, the answer is not needed, and long computations stop
using Answer = Result<std::string> (*)(TraceSession& session, Query& query,
                                       const IsWanted& is_wanted);

/// The same, for requests about the job as a whole.
using JobAnswer = Result<std::string> (*)(JobSession& job, Query& query);

struct Question {
  Answer answer = nullptr;         ///< Null if the request is about the job.
  JobAnswer job_answer = nullptr;  ///< Null if the request is about the trace of one rank.
  const char* type = kJson;
  bool is_kept =
      true;  ///< The answer is expensive and therefore cached; else it is computed each time.
};

/// Returns the answer. The parameter `rank` selects the trace in a job of several ranks; without
/// it, the trace of the rank that represents the job answers.
Result<std::string> AnswerTo(const Question& question, JobSession& job, Query& query,
                             const IsWanted& is_wanted);

/// By name, such as `predict` or `timeline/tile` (docs/ui.md).
const std::map<std::string, Question>& Questions();

}  // namespace headroom
