#include "serve/page_answers.h"

#include <string>
#include <utility>

namespace headroom {

Result<std::vector<PageAnswer>> AnswersOfPage(TraceSession& session) {
  Result<std::string> ranking = session.WhatifJson({});
  if (!ranking.ok()) return ranking.status();
  return std::vector<PageAnswer>{{"report", session.ReportJson()},
                                 {"scenarios", RenderScenariosJson()},
                                 {"whatif", std::move(ranking).value()}};
}

}  // namespace headroom
