// The state of the program that the page may record again.
#pragma once

#include <string>

#include "serve/run/repeated_run.h"

namespace headroom {

/// Returns headroom.run/1.
std::string RunJson(const RepeatedRun& run);

}  // namespace headroom
