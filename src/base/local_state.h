// Where a program keeps what it learned on this machine, after the XDG Base Directory
// Specification.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// `$XDG_STATE_HOME/headroom/NAME`, or `~/.local/state/headroom/NAME`; nullopt where neither
/// variable is set to an absolute path. The folder may not exist.
std::optional<std::string> LocalStatePath(std::string_view name);

}  // namespace headroom
