#include "serve/timeline_questions.h"

#include <optional>
#include <utility>

namespace headroom {

Result<std::string> AskTimeline(TraceSession& session, Query& query, const IsWanted&) {
  const std::string scenario = query.Text("scenario");
  if (Status status = query.Finish(); !status.ok()) return status;
  if (scenario.empty()) return session.timeline().TracksJson();
  return session.timeline().ForecastJson(scenario);
}

Result<std::string> AskTile(TraceSession& session, Query& query, const IsWanted&) {
  TimelineAnswers::TileQuery tile = {.scenario = query.Text("scenario"),
                                     .level = query.Integer("level"),
                                     .index = query.Integer("index"),
                                     .tracks = query.Integers("tracks")};
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.timeline().TileBytes(tile);
}

Result<std::string> AskSpan(TraceSession& session, Query& query, const IsWanted&) {
  const std::int64_t lane = query.Integer("lane"), row = query.Integer("row");
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.timeline().SpanJson(lane, row);
}

Result<std::string> AskSearch(TraceSession& session, Query& query, const IsWanted&) {
  const std::string text = query.Text("text");
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.timeline().SearchJson(text);
}

Result<std::string> AskPlace(TraceSession& session, Query& query, const IsWanted&) {
  const std::int64_t start = query.Integer("start");
  const std::optional<std::int64_t> duration = query.OptionalInteger("duration");
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.timeline().PlaceJson(start, duration);
}

Result<std::string> AskRange(TraceSession& session, Query& query, const IsWanted&) {
  const std::int64_t from = query.Integer("from"), to = query.Integer("to");
  if (Status status = query.Finish(); !status.ok()) return status;
  return session.timeline().RangeJson(from, to);
}

}  // namespace headroom
