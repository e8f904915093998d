// Scripts by which a shell completes the words of a headroom command.
#pragma once

#include <span>
#include <string>

#include "cli/flags/command_description.h"

namespace headroom::cli {

/// Each completes commands, flags, the words that a flag's value may be, and files where a value or
/// an argument may be one.
std::string BashCompletion(std::span<const CommandDescription> commands);
std::string ZshCompletion(std::span<const CommandDescription> commands);
std::string FishCompletion(std::span<const CommandDescription> commands);

}  // namespace headroom::cli
