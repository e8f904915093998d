// Whole small files.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace headroom {

/// nullopt: there is no such file. Other failures are kBadInput and name the file and the cause.
Result<std::optional<std::string>> ReadFile(const std::string& path);

/// Returns the file, or "" where it cannot be read.
std::string ReadFileOrEmpty(const std::string& path);

/// A file that a flag of the command line names. kBadInput where there is none, too, with the flag.
Result<std::string> ReadRequiredFile(const std::string& flag, const std::string& path);

}  // namespace headroom
