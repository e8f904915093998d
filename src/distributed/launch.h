// Whether a launcher of parallel jobs (mpirun, srun) started this process as one of several.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace headroom {

struct Launch {
  int process = 0;    ///< From 0.
  int processes = 1;  ///< At least 2.
};

/// What a launcher says in the environment: Open MPI's mpirun, PMI, Slurm. nullopt: this process is
/// no part of several. `variable` looks one up.
std::optional<Launch> LaunchIn(
    const std::function<std::optional<std::string>(const char*)>& variable);

/// Of this process. None either where a program that uses MPI started it: what the launcher said
/// was for that program, whose place another must not take.
std::optional<Launch> FindLaunch();

}  // namespace headroom
