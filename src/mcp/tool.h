// A tool that the server offers: what it is called, what it takes, and the commands that answer it.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom::mcp {

/// Commands of this program, without its own name, that answer one call.
struct ToolCall {
  /// Prints one JSON object, or what is no JSON: then that is the text of the answer.
  std::vector<std::string> json;
  std::vector<std::string> text;  ///< The same for people; empty: the text is the JSON.
  /// Part of the object that is asked for, as a JSON pointer, and the first row of it.
  std::optional<std::string> select = {};
  std::size_t from = 0;
};

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  nlohmann::ordered_json input_schema;
  /// Fails where the arguments are wrong or name a file that may not be opened. The caller gets the
  /// message. `arguments` is an object.
  std::function<Result<ToolCall>(const nlohmann::ordered_json& arguments)> prepare;
};

}  // namespace headroom::mcp
