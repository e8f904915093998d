// Joins several processes of one command. Only the first one prints.
#pragma once

#include <memory>

#include "base/status.h"
#include "distributed/communicator.h"

namespace headroom::cli {

/// Calls JoinProcesses() with this program's MPI module. Afterwards only the leading process
/// prints. A process that cannot join reports the reason, with its host.
Result<std::unique_ptr<Communicator>> JoinOthers();

/// Returns true if a launcher started several processes and this is not the first.
bool IsFollower();

}  // namespace headroom::cli
