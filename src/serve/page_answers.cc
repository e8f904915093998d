#include "serve/page_answers.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "report/base64.h"
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

/// In the page's order; held against it by ui/e2e/offline.test.ts.
const FirstQuestion kFirstQuestions[] = {
    {"traces", "traces"},
    {"gpus", "gpus"},
    {"predict?total-steps=1000", "predict", {{"total-steps", "1000"}}},
    {"predict", "predict", {}, /*instead=*/true},
    {"clusters", "clusters"},
    {"scale?gpus=1%2C2%2C4%2C8%2C16%2C32%2C64&bandwidth-gbps=100&gpus-per-node=1",
     "scale",
     {{"gpus", "1,2,4,8,16,32,64"}, {"bandwidth-gbps", "100"}, {"gpus-per-node", "1"}}},
    {"data", "data"},
};

/// Before base64 makes a third more of them.
constexpr std::size_t kMostTileBytes = 2'000'000;

/// The whole trace, as finely as there is room for.
void AddTimeline(TimelineAnswers& timeline, std::vector<PageAnswer>& answers) {
  answers.push_back({"timeline", timeline.TracksJson()});
  for (const TimelineAnswers::KeptTile& tile : timeline.CoarseTiles(kMostTileBytes)) {
    answers.push_back({fmt::format("timeline/tile?level={}&index={}", tile.level, tile.index),
                       fmt::format("\"{}\"", Base64(tile.bytes))});
  }
}

}  // namespace

Result<std::vector<PageAnswer>> AnswersOfPage(TraceSession& session) {
  Result<std::string> ranking = session.WhatifJson({});
  if (!ranking.ok()) return ranking.status();
  std::vector<PageAnswer> answers = {{"report", session.ReportJson()},
                                     {"scenarios", RenderScenariosJson()},
                                     {"whatif", std::move(ranking).value()}};
  AddTimeline(session.timeline(), answers);
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
