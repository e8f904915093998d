// Runs a module of the Python package `headroom` in place of this program.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace headroom::cli {

/// Replaces this process by `python -m module arguments...`, which finds the package next to this
/// program. Returns only on failure: kEnvironment without the package, kUsage without the Python.
Status RunPythonModule(const std::string& python, const std::string& module,
                       const std::vector<std::string>& arguments);

}  // namespace headroom::cli
