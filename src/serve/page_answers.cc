#include "serve/page_answers.h"

#include <string>
#include <string_view>
#include <utility>

#include "serve/questions.h"
#include "serve/replies.h"

namespace headroom {
namespace {

/// A question as a view asks it first; `path` is what the page writes.
struct FirstQuestion {
  std::string_view path;
  std::string_view name;
  Query::Parameters parameters = {};
  bool instead = false;  ///< Asked where the one before has no answer.
};

/// In the page's order; held against it by ui/e2e/offline.test.ts. The timeline asks by where one
/// looks, and is left out.
const FirstQuestion kFirstQuestions[] = {
    {"gpus", "gpus"},
    {"predict?total-steps=1000", "predict", {{"total-steps", "1000"}}},
    {"predict", "predict", {}, /*instead=*/true},
    {"clusters", "clusters"},
    {"scale?gpus=1%2C2%2C4%2C8%2C16%2C32%2C64&bandwidth-gbps=100&gpus-per-node=1",
     "scale",
     {{"gpus", "1,2,4,8,16,32,64"}, {"bandwidth-gbps", "100"}, {"gpus-per-node", "1"}}},
};

}  // namespace

Result<std::vector<PageAnswer>> AnswersOfPage(TraceSession& session) {
  Result<std::string> ranking = session.WhatifJson({});
  if (!ranking.ok()) return ranking.status();
  std::vector<PageAnswer> answers = {{"report", session.ReportJson()},
                                     {"scenarios", RenderScenariosJson()},
                                     {"whatif", std::move(ranking).value()}};
  bool failed = false;
  for (const FirstQuestion& asked : kFirstQuestions) {
    if (asked.instead && !failed) continue;
    Query query(asked.parameters);
    Result<std::string> answer = Questions().at(std::string(asked.name)).answer(session, query);
    failed = !answer.ok();
    answers.push_back({std::string(asked.path),
                       failed ? ErrorJson(answer.status().message()) : std::move(answer).value()});
  }
  return answers;
}

}  // namespace headroom
