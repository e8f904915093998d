// Several processes of one command, of which the first alone speaks.
#pragma once

#include <memory>

#include "base/status.h"
#include "distributed/communicator.h"

namespace headroom::cli {

/// JoinProcesses() with the module of this program. From here on, processes that do not lead print
/// nothing. What keeps one of them from joining is said by that process, with its host.
Result<std::unique_ptr<Communicator>> JoinOthers();

/// Whether a launcher started this process as another than the first of several.
bool IsFollower();

}  // namespace headroom::cli
