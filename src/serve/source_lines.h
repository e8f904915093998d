// Lines of a program's source at a place that a trace names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace headroom {

/// A place such as "model/layers.py(42): forward".
struct SourceLocation {
  std::string file;
  std::int64_t line = 0;  ///< From 1; the first line of the function, or of its decorators.
  std::string function;
};

/// Returns nullopt if the text is not a place.
std::optional<SourceLocation> ParseLocation(const std::string& text);

/// Returns headroom.source/1: the function's first lines. A relative file is searched in the
/// working directory, then in the folder of the trace and the folders above it. A trace can name
/// any file, so this reads only Python files of moderate size that have the function at this line.
/// Fails (kNoAnswer) otherwise.
Result<std::string> SourceJson(const std::string& location, const std::string& trace_path);

}  // namespace headroom
