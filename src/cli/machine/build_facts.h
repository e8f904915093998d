// Abilities of this build of the program, for `headroom --version`.
#pragma once

#include <string>

#include "cli/machine/installed_files.h"

namespace headroom::cli {

/// Returns the lines below the version: the platform, the parts that record, the libraries.
std::string BuildFacts(const InstalledFiles& files);

}  // namespace headroom::cli
