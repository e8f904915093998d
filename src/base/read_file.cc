#include "base/read_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace headroom {

Result<std::optional<std::string>> ReadFile(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    return Status::BadInput(fmt::format("cannot read {}: it is a directory", path));
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

std::string ReadFileOrEmpty(const std::string& path) {
  Result<std::optional<std::string>> read = ReadFile(path);
  return read.ok() ? std::move(read).value().value_or("") : "";
}

Result<std::string> ReadRequiredFile(const std::string& flag, const std::string& path) {
  Result<std::optional<std::string>> text = ReadFile(path);
  if (!text.ok()) return text.status();
  if (!text.value()) return Status::BadInput(fmt::format("{} {}: no such file", flag, path));
  return std::move(*text.value());
}

}  // namespace headroom
