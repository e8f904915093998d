// Facts of this machine, and settings that change a job's speed.
#pragma once

#include <string>
#include <vector>

#include "compare/job_profile.h"

namespace headroom {

/// Returns CPU, cores, frequency governor, kernel, NVIDIA driver, and the environment variables
/// known to change a job's speed. Reads no other variables, because they may hold secrets.
/// `root` prefixes the paths of /proc and /sys; empty on a real machine.
std::vector<ProfileFact> FactsOfThisMachine(const std::string& root = "");

}  // namespace headroom
