#include "base/local_state.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/read_file.h"

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

Result<std::optional<std::string>> ReadLocalState(const std::string& path) {
  std::error_code unreachable;
  if (!std::filesystem::exists(path, unreachable)) return std::optional<std::string>();
  Result<std::optional<std::string>> text = ReadFile(path);
  if (text.ok()) return text;
  return Status::BadInput(
      fmt::format("{}; --no-local-state does without it", text.status().message()));
}

}  // namespace headroom
