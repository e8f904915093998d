// What the page learns of the program that it may record again.
#pragma once

#include <string>

#include "serve/repeated_run.h"

namespace headroom {

/// headroom.run/1.
std::string RunJson(const RepeatedRun& run);

}  // namespace headroom
