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
  /// Prints one JSON object. Any other output is the answer as it is.
  std::vector<std::string> json;
  /// Prints the same as text for people. Empty: there is no such command, so send the JSON.
  std::vector<std::string> text;
  /// Requested part of the object, as a JSON pointer, and the first row of that part. nullopt: the
  /// whole object.
  std::optional<std::string> select = {};
  std::size_t from = 0;
};

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  nlohmann::ordered_json input_schema;
  /// Describes the structured content, which may lack any key: answers are cut to fit.
  nlohmann::ordered_json output_schema;
  /// Fails if the arguments are invalid or name a file that must not be opened. The client gets the
  /// message. `arguments` is an object.
  std::function<Result<ToolCall>(const nlohmann::ordered_json& arguments)> prepare;
};

}  // namespace headroom::mcp
