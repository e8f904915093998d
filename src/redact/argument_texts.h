// The texts in what was kept of an event's `args` (store/args_text.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headroom {

/// Calls visit(text) for each text among the members, keys and nested ones too, as it is meant.
void ForEachArgumentText(std::string_view members,
                         const std::function<void(std::string_view)>& visit);

/// The JSON with each of its texts as `replace` gives it, and all else as it is; "null" where there
/// is more than texts, numbers, constants and brackets, which no reader of JSON would take.
std::string WithTexts(std::string_view json,
                      const std::function<std::string(std::string_view)>& replace);

}  // namespace headroom
