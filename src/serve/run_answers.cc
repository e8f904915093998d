#include "serve/run_answers.h"

#include <string_view>
#include <utility>

#include "render/escape.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

std::string_view NameOf(RepeatedRun::Phase phase) {
  switch (phase) {
    case RepeatedRun::Phase::kIdle:
      return "idle";
    case RepeatedRun::Phase::kRunning:
      return "running";
    case RepeatedRun::Phase::kStopping:
      return "stopping";
    case RepeatedRun::Phase::kReading:
      return "reading";
  }
  return "";
}

}  // namespace

std::string RunJson(const RepeatedRun& run) {
  const RepeatedRun::State state = run.Now();
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.run/1");
  json.Key("command").String(run.command());
  json.Key("phase").String(NameOf(state.phase));
  json.Key("ended").Integer(state.ended);
  json.Key("time_s").Number(state.time.count());
  json.Key("path").StringOrNull(state.path);
  json.Key("exit_code").Integer(state.exit_code);
  json.Key("stopped").Bool(state.was_stopped);
  json.Key("problem").StringOrNull(state.shown.message());
  json.Key("lines").BeginArray();
  for (const std::string& line : state.lines) json.String(Printable(line));
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace headroom
