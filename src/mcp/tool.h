// A tool of the server: its name, its arguments, and the commands that answer it.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom::mcp {

/// Commands of this program, without its name, that answer one call.
struct ToolCall {
  /// Prints one JSON object, or other text, which then is the answer.
  std::vector<std::string> json;
  std::vector<std::string> text;  ///< Prints the same for people; empty: the text is the JSON.
  /// Requested part of the object, as a JSON pointer, and its first row.
  std::optional<std::string> select = {};
  std::size_t from = 0;
};

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  nlohmann::ordered_json input_schema;
  /// Fails if the arguments are invalid or name a file that must not be opened. The client gets the
  /// message. `arguments` is an object.
  std::function<Result<ToolCall>(const nlohmann::ordered_json& arguments)> prepare;
};

}  // namespace headroom::mcp
