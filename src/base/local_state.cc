#include "base/local_state.h"

#include <cstdlib>

namespace headroom {

std::optional<std::string> LocalStatePath(std::string_view name) {
  const auto below = [&](const char* variable,
                         std::string_view folder) -> std::optional<std::string> {
    const char* root = std::getenv(variable);
    // The specification: relative paths are to be ignored.
    if (root == nullptr || *root != '/') return std::nullopt;
    return std::string(root).append(folder).append("/").append(name);
  };
  if (auto path = below("XDG_STATE_HOME", "/headroom")) return path;
  return below("HOME", "/.local/state/headroom");
}

}  // namespace headroom
