// Whole small files.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace headroom {

/// nullopt: there is no such file. Other failures are kBadInput and name the file and the cause.
Result<std::optional<std::string>> ReadFile(const std::string& path);

}  // namespace headroom
