#include "cli/inputs/join_team.h"

#include <optional>

#include "cli/terminal/output.h"
#include "cli/terminal/payload.h"
#include "distributed/launch.h"

namespace headroom::cli {

Result<std::unique_ptr<Team>> JoinOthers() {
  Result<std::unique_ptr<Team>> team = JoinTeam(FindPayload().mpi);
  if (team.ok() && !team.value()->leads()) MuteRemarks(true);
  return team;
}

bool IsFollower() {
  const std::optional<Launch> launch = FindLaunch();
  return launch && launch->process > 0;
}

}  // namespace headroom::cli
