#include "serve/page_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
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
    {"predict?total-steps=1000&current=1", "predict", {{"total-steps", "1000"}, {"current", "1"}}},
    {"predict?current=1", "predict", {{"current", "1"}}, /*instead=*/true},
    {"predict?total-steps=1000", "predict", {{"total-steps", "1000"}}},
    {"predict", "predict", {}, /*instead=*/true},
    {"clusters", "clusters"},
    {"scale?gpus=1%2C2%2C4%2C8%2C16%2C32%2C64&bandwidth-gbps=100&gpus-per-node=1",
     "scale",
     {{"gpus", "1,2,4,8,16,32,64"}, {"bandwidth-gbps", "100"}, {"gpus-per-node", "1"}}},
    {"data", "data"},
    {"metrics", "metrics"},
};

/// Limit for all tiles of the first rank, in bytes before base64, which adds a third; the same
/// applies to all tiles of the other ranks.
constexpr std::size_t kMaxTileBytes = 2'000'000;
/// Limits for the steps of all ranks, and for the reports of the ranks other than the first.
constexpr std::size_t kMaxStepBytes = 2'000'000, kMaxReportBytes = 8'000'000;

Status Unwanted() { return Status::NoAnswer("the client no longer waits for the page"); }

/// Covers the whole trace, at the finest resolution that fits.
///
/// @param of_rank  parameter that selects the rank, such as "rank=3"; empty: no parameter
void AddTimeline(TimelineAnswers& timeline, std::size_t max_bytes, const std::string& of_rank,
                 std::vector<PageAnswer>& answers) {
  answers.push_back({of_rank.empty() ? "timeline" : "timeline?" + of_rank, timeline.TracksJson()});
  for (const TimelineAnswers::KeptTile& tile : timeline.CoarseTiles(max_bytes)) {
    answers.push_back({fmt::format("timeline/tile?level={}&index={}{}{}", tile.level, tile.index,
                                   of_rank.empty() ? "" : "&", of_rank),
                       fmt::format("\"{}\"", Base64(tile.bytes))});
  }
}

/// Adds the steps of all ranks that fit, the report of each rank, and timelines of the
/// ranks other than the first.
Status AddRanks(JobSession& job, const IsWanted& is_wanted, std::vector<PageAnswer>& answers) {
  std::size_t bytes = 0;
  for (const std::int64_t step : job.StepsOfRanks()) {
    Result<std::string> answer = job.RankStepJson(step);
    if (!answer.ok()) return answer.status();
    if (bytes + answer.value().size() > kMaxStepBytes) continue;
    bytes += answer.value().size();
    answers.push_back({fmt::format("ranks/step?step={}", step), std::move(answer).value()});
  }
  const std::vector<std::int64_t> ranks = job.RankNumbers();
  std::size_t report_bytes = 0;
  for (const std::int64_t rank : ranks) {
    if (!is_wanted()) return Unwanted();
    Result<std::string> report = job.ReportJson(rank);
    if (!report.ok()) return report.status();
    report_bytes += report.value().size();
    // The first rank's timeline answers without a rank.
    const bool is_first = rank == job.FirstRank();
    if (!is_first && report_bytes > kMaxReportBytes) continue;
    answers.push_back({fmt::format("report?rank={}", rank), std::move(report).value()});
    if (is_first) continue;
    const Result<std::shared_ptr<TraceSession>> trace = job.Trace(rank);
    if (!trace.ok()) return trace.status();
    AddTimeline(trace.value()->timeline(), kMaxTileBytes / ranks.size(),
                fmt::format("rank={}", rank), answers);
  }
  return Status::Ok();
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
void AddChanges(TraceSession& session, const std::string& report_json, const IsWanted& is_wanted,
                std::vector<PageAnswer>& answers) {
  const nlohmann::json report = nlohmann::json::parse(report_json);
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

Result<std::vector<PageAnswer>> AnswersOfPage(JobSession& job, const IsWanted& is_wanted) {
  const Result<std::shared_ptr<TraceSession>> trace = job.Trace();
  if (!trace.ok()) return trace.status();
  TraceSession& session = *trace.value();
  const Result<std::string> report = job.ReportJson();
  if (!report.ok()) return report.status();
  const Result<std::string> report_of_first = job.ReportJson(job.FirstRank());
  if (!report_of_first.ok()) return report_of_first.status();
  Result<std::string> ranking = session.WhatifJson({}, is_wanted);
  if (!ranking.ok()) return ranking.status();
  std::vector<PageAnswer> answers = {{"report", report.value()},
                                     {"scenarios", RenderScenariosJson()},
                                     {"whatif", std::move(ranking).value()},
                                     {"traces", job.TracesJson(/*all=*/false)}};
  AddChanges(session, report_of_first.value(), is_wanted, answers);
  AddTimeline(session.timeline(), kMaxTileBytes, "", answers);
  bool failed = false;
  for (const FirstQuestion& asked : kFirstQuestions) {
    if (asked.instead && !failed) continue;
    if (!is_wanted()) return Unwanted();
    Query query(asked.parameters);
    Result<std::string> answer =
        AnswerTo(Questions().at(std::string(asked.name)), job, query, is_wanted);
    failed = !answer.ok();
    answers.push_back({std::string(asked.path),
                       failed ? ErrorJson(answer.status().message()) : std::move(answer).value()});
  }
  if (Status status = AddRanks(job, is_wanted, answers); !status.ok()) return status;
  return answers;
}

}  // namespace headroom
