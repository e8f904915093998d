// Makes scripts with which a shell completes the words of a headroom command.
#pragma once

#include <span>
#include <string>

#include "cli/flags/command_description.h"

namespace headroom::cli {

/// Each script completes commands, flags, known values of flags, and files where a value or an
/// argument can be a file.
std::string BashCompletion(std::span<const CommandDescription> commands);
std::string ZshCompletion(std::span<const CommandDescription> commands);
std::string FishCompletion(std::span<const CommandDescription> commands);

}  // namespace headroom::cli
