#include "serve/timeline_routes.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/replies.h"
#include "timeline/tile.h"

namespace headroom {
namespace {

/// The whole of a text; none where it is no number that fits.
template <typename Number>
bool ParseNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Result<std::int64_t> NumberParam(const httplib::Request& request, const char* name) {
  std::int64_t number = 0;
  const std::string text = request.get_param_value(name);
  if (ParseNumber(text, number)) return number;
  return Status::Usage(fmt::format("{} must be a whole number: \"{}\"", name, text));
}

/// "3,4,5".
Result<std::vector<std::uint32_t>> ListParam(const httplib::Request& request, const char* name) {
  std::vector<std::uint32_t> numbers;
  const std::string text = request.get_param_value(name);
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    if (!ParseNumber(one, numbers.emplace_back()))
      return Status::Usage(fmt::format("{} must be numbers with commas: \"{}\"", name, text));
  }
  return numbers;
}

Result<std::string> AnswerTile(TimelineAnswers& answers, const httplib::Request& request) {
  const Result<std::int64_t> level = NumberParam(request, "level");
  if (!level.ok()) return level.status();
  const Result<std::int64_t> index = NumberParam(request, "index");
  if (!index.ok()) return index.status();
  Result<std::vector<std::uint32_t>> tracks = ListParam(request, "tracks");
  if (!tracks.ok()) return tracks.status();
  if (level.value() < 0 || level.value() > kMostLevel)
    return Status::Usage(fmt::format("level goes from 0 to {}", kMostLevel));
  return answers.TileBytes({.scenario = request.get_param_value("scenario"),
                            .level = static_cast<int>(level.value()),
                            .index = index.value(),
                            .tracks = std::move(tracks).value()});
}

Result<std::string> AnswerSpan(TimelineAnswers& answers, const httplib::Request& request) {
  const Result<std::int64_t> lane = NumberParam(request, "lane");
  if (!lane.ok()) return lane.status();
  const Result<std::int64_t> row = NumberParam(request, "row");
  if (!row.ok()) return row.status();
  return answers.SpanJson(lane.value(), row.value());
}

Result<std::string> AnswerRange(TimelineAnswers& answers, const httplib::Request& request) {
  const Result<std::int64_t> from = NumberParam(request, "from");
  if (!from.ok()) return from.status();
  const Result<std::int64_t> to = NumberParam(request, "to");
  if (!to.ok()) return to.status();
  return answers.RangeJson(from.value(), to.value());
}

}  // namespace

void AddTimelineRoutes(TimelineAnswers& answers, httplib::Server& server) {
  server.Get("/api/v1/timeline", [&](const httplib::Request& request, httplib::Response& response) {
    const std::string scenario = request.get_param_value("scenario");
    Reply(scenario.empty() ? answers.TracksJson() : answers.ForecastJson(scenario), kJson,
          response);
  });
  server.Get("/api/v1/timeline/tile",
             [&](const httplib::Request& request, httplib::Response& response) {
               Reply(AnswerTile(answers, request), kBytes, response);
             });
  server.Get("/api/v1/timeline/span",
             [&](const httplib::Request& request, httplib::Response& response) {
               Reply(AnswerSpan(answers, request), kJson, response);
             });
  server.Get("/api/v1/timeline/search",
             [&](const httplib::Request& request, httplib::Response& response) {
               Reply(answers.SearchJson(request.get_param_value("text")), kJson, response);
             });
  server.Get("/api/v1/timeline/range",
             [&](const httplib::Request& request, httplib::Response& response) {
               Reply(AnswerRange(answers, request), kJson, response);
             });
}

}  // namespace headroom
