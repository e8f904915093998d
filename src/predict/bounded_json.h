// JSON that a user hands in, read within bounds of depth and memory.
//
// A value of nlohmann::json takes many times its text, and to copy or print one costs a call for
// each level of its nesting. So values are built one at a time, and none is deep or large.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headroom {

/// One value; nullopt: not JSON, nested deeper than 16, or of more than 65536 values.
std::optional<nlohmann::json> ParseBoundedJson(std::string_view text);

/// Hands over the elements of an array, however long, one after the other; stops at the first
/// failure. BadInput names the line of what is no JSON, or the element, from 1, that
/// ParseBoundedJson() would not take.
///
/// @param name     of the file, for messages
/// @param element  what one is, for messages: "operator"
/// @param take     gets the number of the element, from 1; the element is its own to keep
Status ForEachJsonElement(std::string_view text, const std::string& name, std::string_view element,
                          const std::function<Status(std::size_t, nlohmann::json&)>& take);

}  // namespace headroom
