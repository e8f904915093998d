#include <cstddef>
#include <utility>

#include "answers/redact/render.h"
#include "render/json_writer.h"

namespace headroom {

std::string RenderRedactJson(const RedactAnswer& answer) {
  const std::array<std::int64_t, kSecretKinds> counts = answer.Counts();
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.redact/1");
  json.Key("output").String(answer.output);
  json.Key("events").Integer(answer.events);
  json.Key("replaced").BeginObject();
  for (std::size_t kind = 0; kind < kSecretKinds; ++kind)
    json.Key(kSecretKindNames[kind]).Integer(counts[kind]);
  json.EndObject();
  json.Key("changed_rows").BeginArray(JsonWriter::Layout::kLines);
  for (const auto& [column, rows] : answer.changed) {
    json.BeginObject();
    json.Key("column").String(column);
    json.Key("rows").Integer(rows);
    json.EndObject();
  }
  json.EndArray();
  json.Key("proof").BeginObject();
  json.Key("texts").Integer(static_cast<std::int64_t>(answer.proof.texts));
  json.Key("scanned_bytes").Integer(answer.proof.bytes);
  json.Key("compared_values").Integer(answer.proof.compared);
  json.EndObject();
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom
