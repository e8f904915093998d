#include "serve/recording_names.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "headroom-ui-", kEnd = ".pftrace";

/// 0: none of ours. Files of further processes count, as they would be overwritten.
std::int64_t NumberIn(std::string_view name) {
  if (!name.starts_with(kBegin)) return 0;
  name.remove_prefix(kBegin.size());
  constexpr std::int64_t kMost = 1'000'000'000;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  return error == std::errc() && name.starts_with(kEnd) && number > 0 && number < kMost ? number
                                                                                        : 0;
}

}  // namespace

Result<std::string> NextRecording() {
  if (access(".", W_OK | X_OK) != 0) {
    return Status::Internal(
        fmt::format("cannot write recordings into the working directory: {}; start headroom ui in "
                    "a folder of yours",
                    std::strerror(errno)));
  }
  std::int64_t last = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(".", ignored))
    last = std::max(last, NumberIn(entry.path().filename().string()));
  return fmt::format("{}{}{}", kBegin, last + 1, kEnd);
}

void RemoveRecording(const std::string& path) {
  std::error_code ignored;
  const fs::path recording(path);
  const std::string further = recording.filename().string() + ".";
  std::vector<fs::path> files = {recording};
  const fs::path folder = recording.has_parent_path() ? recording.parent_path() : ".";
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(further) &&
        name.find_first_not_of("0123456789", further.size()) == std::string::npos)
      files.push_back(entry.path());
  }
  for (const fs::path& file : files) fs::remove(file, ignored);
}

}  // namespace headroom
