// Detects a launcher of parallel jobs (mpirun, srun) that started this process as one of several.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace headroom {

struct Launch {
  int process = 0;    ///< Number from 0.
  int processes = 1;  ///< At least 2.
};

/// Returns the value of an environment variable.
using Environment = std::function<std::optional<std::string>(const char*)>;

/// Returns the launch that Open MPI's mpirun, PMI or Slurm describes in the environment of a
/// process that it started directly. Returns nullopt if this process is not one of several.
///
/// @param parents  environment of the parent process. If it has the same variables, the parent
///   belongs to the launch and started this process, which must then not wait for others. Examples:
///   a shell in a terminal of srun, a training script whose first rank requests a report.
std::optional<Launch> LaunchIn(const Environment& own, const Environment& parents);

/// Returns the launch of this process. A parent with an unreadable environment belongs to another
/// user, so it is a daemon.
std::optional<Launch> FindLaunch();

}  // namespace headroom
