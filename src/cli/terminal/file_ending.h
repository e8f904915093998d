// What the ending of an output's name says of its form.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "export/written_trace.h"

namespace headroom::cli {

/// A form in which a result can be written.
struct OutputForm {
  std::string_view ending;  ///< Usual for it: ".csv".
  std::string_view flag;    ///< Which asks for it: "--csv", "--to chrome".
};

/// What to say on stderr, a line, of a file whose name ends as that of a form that is not
/// `written`; empty where there is nothing to say. An ending of compression does not count.
///
/// @param written  its flag; empty: that of no form
/// @param what     was written: "a table for people"
std::string RemarkOnEnding(const std::string& path, std::string_view written, std::string_view what,
                           std::span<const OutputForm> forms);

/// The same of a trace: empty where the name ends as that of its format, or says nothing.
std::string RemarkOnTraceEnding(const std::string& path, TraceFormat written);

}  // namespace headroom::cli
