#include "serve/run/recording_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBegin = "headroom-ui-", kEnd = ".pftrace";

/// Returns N of a recording's file name; 0 for other files. Counts files of child processes too,
/// because a recording would overwrite them.
std::int64_t NumberIn(std::string_view name) {
  if (!name.starts_with(kBegin)) return 0;
  name.remove_prefix(kBegin.size());
  constexpr std::int64_t kMax = 1'000'000'000;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  return error == std::errc() && name.starts_with(kEnd) && number > 0 && number < kMax ? number : 0;
}

/// Returns the largest number in the working directory; 0 if it cannot be listed.
std::int64_t LargestNumber() {
  std::int64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator at(".", error), end; !error && at != end; at.increment(error))
    last = std::max(last, NumberIn(at->path().filename().string()));
  return last;
}

Status CannotWrite(int error) {
  return Status::Environment(
      fmt::format("cannot write recordings to the working directory: {}; start headroom ui in "
                  "a writable folder",
                  std::strerror(error)));
}

}  // namespace

Result<ReservedRecording> ReservedRecording::Make() {
  // Starts after the largest number, and skips names that another process takes meanwhile.
  for (std::int64_t number = LargestNumber() + 1;; ++number) {
    std::string path = fmt::format("{}{}{}", kBegin, number, kEnd);
    const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) return CannotWrite(errno);
    struct stat made {};
    const int error = fstat(descriptor, &made) == 0 ? 0 : errno;
    close(descriptor);
    if (error != 0) return CannotWrite(error);
    return ReservedRecording(std::move(path), made.st_dev, made.st_ino);
  }
}

bool ReservedRecording::IsEmpty() const {
  struct stat now {};
  return stat(path_.c_str(), &now) != 0 || now.st_size == 0;
}

void ReservedRecording::Remove() const {
  struct stat now {};
  const bool is_there = lstat(path_.c_str(), &now) == 0;
  if (is_there && (now.st_dev != device_ || now.st_ino != inode_)) return;
  std::vector<fs::path> files = {path_};
  const std::string further = path_ + ".";
  std::error_code error;
  for (fs::directory_iterator at(".", error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(further) &&
        name.find_first_not_of("0123456789", further.size()) == std::string::npos)
      files.push_back(at->path());
  }
  for (const fs::path& file : files) fs::remove(file, error);
}

}  // namespace headroom
