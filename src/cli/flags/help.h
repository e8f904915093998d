// Formats the help text of a command: in the width of all other output, with flags by group.
#pragma once

#include <string>

#include "cli/flags/command_description.h"

namespace headroom::cli {

/// Returns the help of a command in at most 100 columns. The footer holds the examples.
std::string HelpText(const CommandDescription& command);

}  // namespace headroom::cli
