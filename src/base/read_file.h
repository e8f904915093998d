// Reads whole small files.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace headroom {

/// Returns nullopt if there is no such file. Other failures are kBadInput and name the file and the
/// cause.
Result<std::optional<std::string>> ReadFile(const std::string& path);

/// Returns the file, or "" if it cannot be read.
std::string ReadFileOrEmpty(const std::string& path);

/// Returns the file that a command-line flag names. Fails with kBadInput and the flag if the file
/// is missing or unreadable.
Result<std::string> ReadRequiredFile(const std::string& flag, const std::string& path);

}  // namespace headroom
