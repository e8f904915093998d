#include "base/read_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

namespace headroom {

Result<std::optional<std::string>> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::optional<std::string>();
    return Status::BadInput(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  std::ostringstream text;
  text << file.rdbuf();
  if (!file && !file.eof()) return Status::BadInput(fmt::format("cannot read {}", path));
  return std::optional(std::move(text).str());
}

}  // namespace headroom
