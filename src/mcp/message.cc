#include "mcp/message.h"

#include <utility>

namespace headroom::mcp {
namespace {

using json = nlohmann::ordered_json;

/// Copying or freeing a value recurses once per level.
constexpr int kDeepest = 64;

/// Returns true if brackets outside strings nest deeper than kDeepest.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kDeepest) return true;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return false;
}

Message Wrong(int code, std::string error, json id = {}) {
  return {.id = std::move(id), .error = std::move(error), .error_code = code};
}

bool IsId(const json& id) { return id.is_string() || id.is_number_integer(); }

/// Returns nullopt for a response, which has no meaning here: this server sends no requests.
std::optional<Message> ParseMessage(json value) {
  if (!value.is_object())
    return Wrong(kInvalidRequest, "Invalid Request: a message is a JSON object");
  const auto id = value.find("id");
  const bool has_id = id != value.end();
  const json known_id = has_id && IsId(*id) ? *id : json();
  const auto version = value.find("jsonrpc");
  if (version == value.end() || *version != "2.0")
    return Wrong(kInvalidRequest, R"(Invalid Request: "jsonrpc" is not "2.0")", known_id);
  const auto method = value.find("method");
  if (method == value.end() && (value.contains("result") || value.contains("error")))
    return std::nullopt;
  if (method == value.end() || !method->is_string())
    return Wrong(kInvalidRequest, R"(Invalid Request: "method" is not a string)", known_id);
  if (has_id && !IsId(*id))
    return Wrong(kInvalidRequest, R"(Invalid Request: "id" is neither a string nor an integer)");
  Message message{.method = method->get<std::string>(), .id = known_id, .is_request = has_id};
  if (const auto params = value.find("params"); params != value.end()) {
    if (!params->is_object() && !params->is_null())
      return Wrong(kInvalidParams, R"(Invalid params: "params" is not an object)", known_id);
    message.params = std::move(*params);
  }
  if (!message.params.is_object()) message.params = json::object();
  return message;
}

}  // namespace

Line ParseLine(std::string_view line) {
  Line parsed;
  if (IsTooDeep(line)) {
    parsed.messages.push_back(
        Wrong(kInvalidRequest, "Invalid Request: the message is nested too deep"));
    return parsed;
  }
  json value = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    parsed.messages.push_back(
        Wrong(kParseError, "Parse error: the line is not one JSON value in UTF-8"));
    return parsed;
  }
  if (!value.is_array()) {
    if (std::optional<Message> message = ParseMessage(std::move(value)))
      parsed.messages.push_back(std::move(*message));
    return parsed;
  }
  if (value.empty()) {
    parsed.messages.push_back(Wrong(kInvalidRequest, "Invalid Request: the batch is empty"));
    return parsed;
  }
  parsed.is_batch = true;
  for (json& one : value) {
    if (std::optional<Message> message = ParseMessage(std::move(one)))
      parsed.messages.push_back(std::move(*message));
  }
  return parsed;
}

std::string LineOf(const json& answer) {
  return answer.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

json Answer(const json& id, json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

json ErrorAnswer(const json& id, int code, const std::string& message, json data) {
  json error = {{"code", code}, {"message", message}};
  if (!data.is_null()) error["data"] = std::move(data);
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(error)}};
}

}  // namespace headroom::mcp
