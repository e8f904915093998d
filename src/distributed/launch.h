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

/// Looks a variable of an environment up.
using Environment = std::function<std::optional<std::string>(const char*)>;

/// What a launcher says in the environment of a process that it started itself: Open MPI's mpirun,
/// PMI, Slurm. nullopt: this process is no part of several.
///
/// @param parents  of the process that started this one. Where it was told the same, it is a part
/// of
///                 the launch, and this process is of its making: a shell in a terminal of srun, a
///                 training script whose first rank wants a report. Others must not be waited for.
std::optional<Launch> LaunchIn(const Environment& own, const Environment& parents);

/// Of this process. A parent whose environment cannot be read is another user's: a daemon.
std::optional<Launch> FindLaunch();

}  // namespace headroom
