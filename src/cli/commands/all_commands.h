// Makes all commands of the program.
#pragma once

#include <memory>
#include <vector>

#include "cli/flags/command.h"
#include "cli/flags/subcommand.h"

namespace headroom::cli {

/// Declares all commands in `program`, in the order of the help. `program` must outlive them.
std::vector<std::unique_ptr<Subcommand>> MakeCommands(const Program& program);

}  // namespace headroom::cli
