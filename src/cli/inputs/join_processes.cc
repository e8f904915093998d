#include "cli/inputs/join_processes.h"

#include <optional>

#include "cli/terminal/output.h"
#include "cli/terminal/payload.h"
#include "distributed/launch.h"

namespace headroom::cli {

Result<std::unique_ptr<Communicator>> JoinOthers() {
  Result<std::unique_ptr<Communicator>> communicator = JoinProcesses(FindPayload().mpi);
  if (communicator.ok() && !communicator.value()->leads()) MuteRemarks(true);
  return communicator;
}

bool IsFollower() {
  const std::optional<Launch> launch = FindLaunch();
  return launch && launch->process > 0;
}

}  // namespace headroom::cli
