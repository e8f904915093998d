// Makes manual pages from the declared command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/flags/command_description.h"

namespace headroom::cli {

/// Returns a name such as "headroom-data-bench".
std::string ManPageName(const CommandDescription& command);

/// Returns the section 1 page of `command`, one of `commands`, in the man macros of roff (man(7)).
///
/// @param program  name and version of the program: "headroom 1.2"
std::string ManPage(std::span<const CommandDescription> commands, const CommandDescription& command,
                    std::string_view program);

}  // namespace headroom::cli
