// Whether two reports say the same but for what was replaced in the trace.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "redact/text_redactor.h"

namespace headroom {

/// The place (JSON pointer) of the first difference between the report of a trace and that of its
/// redacted copy; nullopt: all numbers are equal, and all texts that hold nothing to be replaced.
/// `inputs` (paths and sizes) and `health` (damage is mended by any copy) are left out, as are ids,
/// which are made of names. Lists may differ in the order of rows with the same numbers, as names
/// decide it. `compared`: values.
std::optional<std::string> FirstDifference(const nlohmann::json& before,
                                           const nlohmann::json& after, TextRedactor& redactor,
                                           std::int64_t& compared);

}  // namespace headroom
