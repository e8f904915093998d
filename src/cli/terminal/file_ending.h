// Compares the ending of an output's name with its format.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "export/written_trace.h"

namespace headroom::cli {

/// A format in which a result can be written.
struct OutputForm {
  std::string_view ending;  ///< File-name ending of the format, such as ".csv".
  std::string_view flag;    ///< Flag that selects it: "--csv", "--to chrome".
};

/// Returns a line for stderr if the name ends like that of another format than `written`; otherwise
/// empty. Ignores the ending of compression.
///
/// @param written  flag of the written format; empty if it has none
/// @param what     description of the written data, such as "a plain-text table"
std::string RemarkOnEnding(const std::string& path, std::string_view written, std::string_view what,
                           std::span<const OutputForm> forms);

/// Returns the same for a trace; empty if the name matches its format or has no known ending.
std::string RemarkOnTraceEnding(const std::string& path, TraceFormat written);

}  // namespace headroom::cli
