// Parses a user's JSON within bounds of depth and memory.
//
// A value of nlohmann::json takes many times the memory of its text. Copying or printing one
// recurses once per level of nesting. This parser therefore builds one value at a time, and limits
// its depth and size.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headroom {

/// Returns one value; nullopt if `text` is not JSON, is nested deeper than 16 levels, or has more
/// than 65536 values.
std::optional<nlohmann::json> ParseBoundedJson(std::string_view text);

/// Passes the elements of an array of any length to `take` one after another, and stops at the
/// first failure. Fails with kBadInput and names the line if `text` is not JSON. Also fails and
/// names the element, from 1, if ParseBoundedJson() would reject it.
///
/// @param name     name of the file, for messages
/// @param element  name of an element, for messages, such as "operator"
/// @param take     callback with the number of the element, from 1, and the element, which it may
/// move
Status ForEachJsonElement(std::string_view text, const std::string& name, std::string_view element,
                          const std::function<Status(std::size_t, nlohmann::json&)>& take);

}  // namespace headroom
