// Reads whole small files.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace headroom {

/// Returns the content of a file, or nullopt if the file does not exist. Failures are kBadInput and
/// name the file and the cause.
Result<std::optional<std::string>> ReadFile(const std::string& path);

/// Returns the content of a file, or "" if the file cannot be read.
std::string ReadFileOrEmpty(const std::string& path);

/// Returns the content of the file that a command-line flag names. Fails with kBadInput if the file
/// is missing or unreadable. The message for a missing file names the flag.
Result<std::string> ReadRequiredFile(const std::string& flag, const std::string& path);

}  // namespace headroom
