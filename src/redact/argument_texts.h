// Texts in the recorded part of an event's `args` (store/args_text.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headroom {

/// Calls visit(text) with each decoded string in the members, including keys and nested strings.
void ForEachArgumentText(std::string_view members,
                         const std::function<void(std::string_view)>& visit);

/// Returns the JSON with each string replaced with replace(string), and everything else unchanged.
/// Returns "null" for JSON with anything other than strings, numbers, constants and brackets, which
/// no JSON parser accepts.
std::string WithTexts(std::string_view json,
                      const std::function<std::string(std::string_view)>& replace);

}  // namespace headroom
