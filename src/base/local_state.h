// Where a program keeps what it learned on this machine, after the XDG Base Directory
// Specification.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace headroom {

/// `$XDG_STATE_HOME/headroom/NAME`, or `~/.local/state/headroom/NAME`; nullopt where neither
/// variable is set to an absolute path. The folder may not exist.
std::optional<std::string> LocalStatePath(std::string_view name);

/// The text of a file of LocalStatePath(); nullopt where there is none, and where its folder cannot
/// be entered: a container run as another user has HOME of somebody else, and nothing was ever
/// learned there. A file that is there and cannot be read is kBadInput, with what does without it.
Result<std::optional<std::string>> ReadLocalState(const std::string& path);

}  // namespace headroom
