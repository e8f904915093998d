#include "serve/replies.h"

#include <httplib.h>

#include <utility>

#include "render/json_writer.h"

namespace headroom {

std::string ErrorJson(std::string_view message) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("headroom.error/1");
  json.Key("error").String(message);
  json.EndObject();
  return std::move(json).Take();
}

void Reply(const Result<std::string>& answer, const char* type, httplib::Response& response) {
  if (answer.ok()) {
    response.set_content(answer.value(), type);
    return;
  }
  response.status = 400;
  response.set_content(ErrorJson(answer.status().message()), kJson);
}

}  // namespace headroom
