// The help text of a command: as wide as every other output, flags by group.
#pragma once

#include <string>

#include "cli/flags/command_description.h"

namespace headroom::cli {

/// The help of a command, in at most 100 columns. Its examples come from its footer.
std::string HelpText(const CommandDescription& command);

}  // namespace headroom::cli
