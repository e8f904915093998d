// The files that `headroom ui --run` records into.
#pragma once

#include <string>

#include "base/status.h"

namespace headroom {

/// `headroom-ui-N.pftrace` in the working directory, N one more than the largest there. Fails
/// (kInternal) where nothing can be written there.
Result<std::string> NextRecording();

/// The file, and those of the further processes, `path.<pid>`.
void RemoveRecording(const std::string& path);

}  // namespace headroom
