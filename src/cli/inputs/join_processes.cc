#include "cli/inputs/join_processes.h"

#include <optional>

#include "cli/machine/installed_files.h"
#include "cli/terminal/output.h"
#include "distributed/launch.h"

namespace headroom::cli {

Result<std::unique_ptr<Communicator>> JoinOthers() {
  Result<std::unique_ptr<Communicator>> communicator = JoinProcesses(FindInstalledFiles().mpi);
  if (communicator.ok() && !communicator.value()->leads()) MuteRemarks(true);
  return communicator;
}

bool IsFollower() {
  const std::optional<Launch> launch = FindLaunch();
  return launch && launch->process > 0;
}

}  // namespace headroom::cli
