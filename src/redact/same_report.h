// Compares two reports, except for strings replaced in the trace.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "redact/text_redactor.h"

namespace headroom {

/// Returns the JSON pointer of the first difference between the report of a trace and that of its
/// redacted copy. Returns nullopt if all numbers are equal, and so are all strings without
/// replacements.
///
/// Ignores `inputs` (paths and sizes), `health` (every copy repairs damage) and ids, which contain
/// names. Rows of a list with the same numbers can be in any order, because names determine it.
///
/// @param compared  output: number of compared values
std::optional<std::string> FirstDifference(const nlohmann::json& before,
                                           const nlohmann::json& after, TextRedactor& redactor,
                                           std::int64_t& compared);

}  // namespace headroom
