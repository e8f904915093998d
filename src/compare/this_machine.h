// What this machine says of itself and of the settings that change how fast a job runs.
#pragma once

#include <string>
#include <vector>

#include "compare/job_profile.h"

namespace headroom {

/// CPU, cores, frequency governor, kernel, NVIDIA driver, and those environment variables that are
/// known to change a job's speed. Other variables are not read: they may hold secrets. `root`:
/// before the paths of /proc and /sys; empty on a real machine.
std::vector<ProfileFact> FactsOfThisMachine(const std::string& root = "");

}  // namespace headroom
