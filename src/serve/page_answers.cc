#include "serve/page_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "render/base64.h"
#include "serve/questions.h"
#include "serve/replies.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {
namespace {

/// The first request of a view; `path` is the text that the page sends.
struct FirstQuestion {
  std::string_view path;
  std::string_view name;
  Query::Parameters parameters = {};
  bool instead = false;  ///< Sent only if the previous request has no answer.
};

/// In the page's order; ui/e2e/offline.test.ts compares it with the page.
const FirstQuestion kFirstQuestions[] = {
    {"gpus", "gpus"},
    {"predict?total-steps=1000", "predict", {{"total-steps", "1000"}}},
    {"predict", "predict", {}, /*instead=*/true},
    {"clusters", "clusters"},
    {"scale?gpus=1%2C2%2C4%2C8%2C16%2C32%2C64&bandwidth-gbps=100&gpus-per-node=1",
     "scale",
     {{"gpus", "1,2,4,8,16,32,64"}, {"bandwidth-gbps", "100"}, {"gpus-per-node", "1"}}},
    {"data", "data"},
    {"metrics", "metrics"},
};

/// Limit for all tiles, in bytes before base64, which adds a third.
constexpr std::size_t kMaxTileBytes = 2'000'000;

/// Covers the whole trace, at the finest resolution that fits.
void AddTimeline(TimelineAnswers& timeline, std::vector<PageAnswer>& answers) {
  answers.push_back({"timeline", timeline.TracksJson()});
  for (const TimelineAnswers::KeptTile& tile : timeline.CoarseTiles(kMaxTileBytes)) {
    answers.push_back({fmt::format("timeline/tile?level={}&index={}", tile.level, tile.index),
                       fmt::format("\"{}\"", Base64(tile.bytes))});
  }
}

/// Initial value of a switch on the page (ui/src/model/scenario.ts).
std::string ValueOf(const ScenarioKey& key) {
  if (!key.otherwise.empty()) return std::string(key.otherwise);
  switch (key.kind) {
    case KeyKind::kChoice:
      return std::string(key.choices.substr(0, key.choices.find('|')));
    case KeyKind::kRegex:
      return ".*";
    case KeyKind::kFactor:
    case KeyKind::kCount:
      break;
  }
  return "2";
}

/// @param samples  samples per step; 0: unknown
std::string SwitchedOn(const Scenario& scenario, std::int64_t samples) {
  std::string text(scenario.name);
  for (const ScenarioKey& key : scenario.keys) {
    const bool is_batch = scenario.name == "batch-size" && key.name == "n" && samples > 0;
    text += fmt::format("{}{}={}", &key == scenario.keys.data() ? ':' : ',', key.name,
                        is_batch ? std::to_string(2 * samples) : ValueOf(key));
  }
  return text;
}

/// Encodes like encodeURIComponent() in the page.
std::string Encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const bool is_plain = IsLetter(c) || IsDigit(c) ||
                          std::string_view("-_.!~*'()").find(c) != std::string_view::npos;
    encoded += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return encoded;
}

/// Adds the answer for each single change, in the form that its switch and the findings' buttons
/// request. Omits combinations and other values, because there are too many.
void AddChanges(TraceSession& session, const IsWanted& is_wanted,
                std::vector<PageAnswer>& answers) {
  const nlohmann::json report = nlohmann::json::parse(session.ReportJson());
  std::int64_t samples = 0;
  if (const nlohmann::json& throughput = report.at("throughput"); throughput.is_object())
    samples = throughput.at("batch_size").get<std::int64_t>();
  // A damaged trace may state any shape, and the code below doubles this number.
  if (samples > std::numeric_limits<std::int64_t>::max() / 2) samples = 0;
  std::set<std::string> scenarios;
  for (const Scenario& scenario : Catalogue()) scenarios.insert(SwitchedOn(scenario, samples));
  for (const nlohmann::json& finding : report.at("findings")) {
    const nlohmann::json& scenario = finding.at("scenario");
    if (scenario.is_string()) scenarios.insert(scenario.get<std::string>());
  }
  for (const std::string& scenario : scenarios) {
    if (!is_wanted()) return;
    Result<std::string> answer = session.WhatifJson({scenario}, is_wanted);
    answers.push_back(
        {"whatif?scenario=" + Encoded(scenario),
         answer.ok() ? std::move(answer).value() : ErrorJson(answer.status().message())});
  }
}

}  // namespace

Result<std::vector<PageAnswer>> AnswersOfPage(TraceSession& session, const IsWanted& is_wanted) {
  Result<std::string> ranking = session.WhatifJson({});
  if (!ranking.ok()) return ranking.status();
  std::vector<PageAnswer> answers = {{"report", session.ReportJson()},
                                     {"scenarios", RenderScenariosJson()},
                                     {"whatif", std::move(ranking).value()},
                                     {"traces", session.TracesJson(/*all=*/false)}};
  AddChanges(session, is_wanted, answers);
  AddTimeline(session.timeline(), answers);
  bool failed = false;
  for (const FirstQuestion& asked : kFirstQuestions) {
    if (asked.instead && !failed) continue;
    if (!is_wanted()) return Status::NoAnswer("the client no longer waits for the page");
    Query query(asked.parameters);
    Result<std::string> answer =
        Questions().at(std::string(asked.name)).answer(session, query, is_wanted);
    failed = !answer.ok();
    answers.push_back({std::string(asked.path),
                       failed ? ErrorJson(answer.status().message()) : std::move(answer).value()});
  }
  return answers;
}

}  // namespace headroom
