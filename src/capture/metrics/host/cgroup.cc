#include "capture/metrics/host/cgroup.h"

#include <sys/stat.h>

#include <algorithm>

#include "capture/metrics/board/fields.h"

namespace headroom {
namespace {

/// Decodes the octal escapes of a path in mountinfo, such as \040 for a blank.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr ==
            text.data() + i + 4) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

/// Returns true if a comma-separated list contains `word`.
bool Lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

struct Mount {
  std::string group;  ///< Group at the top of the mount.
  std::string point;
};

/// Returns the mount of the version 2 hierarchy, or of the version 1 hierarchy with this
/// controller.
std::optional<Mount> FindMount(std::string_view mounts, bool v2, std::string_view controller) {
  Lines lines(mounts);
  for (std::string_view line; lines.Next(line);) {
    // Format: id parent major:minor ROOT POINT options [tags] - TYPE source OPTIONS
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    Fields behind(line.substr(dash + 3));
    const std::string_view type = behind.Next();
    behind.Skip(1);
    if (type != (v2 ? "cgroup2" : "cgroup") || (!v2 && !Lists(behind.Next(), controller))) continue;
    Fields fields(line);
    fields.Skip(3);
    Mount mount;
    mount.group = Unescape(fields.Next());
    mount.point = Unescape(fields.Next());
    return mount;
  }
  return std::nullopt;
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

std::vector<std::string> Levels(const Mount& mount, std::string path, const std::string& root) {
  // Groups above the mount are invisible. A path that leaves the mount ("/../..", of a process
  // outside this namespace) or does not exist yields only the top of the mount.
  const std::string top = root + (mount.point == "/" ? "" : mount.point);
  if (mount.group != "/" && (path == mount.group || path.starts_with(mount.group + "/")))
    path.erase(0, mount.group.size());
  while (path.ends_with('/')) path.pop_back();
  if (path.find("/..") != std::string::npos || !IsFolder(top + path)) path.clear();
  std::vector<std::string> folders;
  while (!path.empty()) {
    folders.push_back(top + path);
    path.erase(path.rfind('/'));
  }
  folders.push_back(top);
  return folders;
}

CgroupLevels LevelsOf(std::string_view controller, std::string_view membership,
                      std::string_view mounts, const std::string& root) {
  std::optional<std::string_view> v1, v2;
  Lines lines(membership);
  for (std::string_view line; lines.Next(line);) {
    // The format is ID:CONTROLLERS:PATH. A path may contain colons.
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (Lists(controllers, controller)) v1 = line.substr(second + 1);
    if (line.starts_with("0::")) v2 = line.substr(second + 1);
  }
  CgroupLevels levels;
  levels.v2 = !v1;
  const std::optional<std::string_view> path = v1 ? v1 : v2;
  const std::optional<Mount> mount = path ? FindMount(mounts, levels.v2, controller) : std::nullopt;
  if (mount) levels.folders = Levels(*mount, std::string(*path), root);
  return levels;
}

}  // namespace

Cgroups FindCgroups(std::string_view membership, std::string_view mounts, const std::string& root) {
  const auto levels = [&](std::string_view controller) {
    return LevelsOf(controller, membership, mounts, root);
  };
  return {.cpu = levels("cpu"),
          .cpu_usage = levels("cpuacct"),
          .memory = levels("memory"),
          .io = levels("blkio")};
}

CgroupCpuStat ParseCgroupCpuStat(std::string_view text) {
  CgroupCpuStat stat;
  stat.periods = ParseKeyed(text, "nr_periods");
  stat.throttled = ParseKeyed(text, "nr_throttled");
  const auto nanoseconds = [&](std::string_view key) -> std::optional<std::uint64_t> {
    const std::optional<std::uint64_t> microseconds = ParseKeyed(text, key);
    return microseconds ? std::optional(*microseconds * 1000) : std::nullopt;
  };
  stat.usage = nanoseconds("usage_usec");
  stat.throttled_time = ParseKeyed(text, "throttled_time");
  if (!stat.throttled_time) stat.throttled_time = nanoseconds("throttled_usec");
  return stat;
}

std::optional<double> ParseCpuMax(std::string_view text) {
  Fields fields(text);
  const std::string_view quota = fields.Next();
  return CpuQuota(quota, fields.Next());
}

std::optional<double> CpuQuota(std::string_view quota, std::string_view period) {
  const auto microseconds = ParseNumber<std::int64_t>(Fields(quota).Next());
  const auto of = ParseNumber<std::int64_t>(Fields(period).Next());
  if (!microseconds || !of || *microseconds <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*microseconds) / static_cast<double>(*of);
}

std::optional<std::uint64_t> ParseMemoryLimit(std::string_view text) {
  const std::optional<std::uint64_t> bytes = Fields(text).NextNumber();
  constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;
  return bytes && *bytes < kNoLimit ? bytes : std::nullopt;
}

CgroupIo ParseIoStat(std::string_view text) {
  CgroupIo io;
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    Fields fields(line);
    fields.Skip(1);
    for (std::string_view word = fields.Next(); !word.empty(); word = fields.Next()) {
      constexpr std::string_view kRead = "rbytes=", kWritten = "wbytes=";
      if (word.starts_with(kRead)) io.read += ParseNumber(word.substr(kRead.size())).value_or(0);
      if (word.starts_with(kWritten))
        io.written += ParseNumber(word.substr(kWritten.size())).value_or(0);
    }
  }
  return io;
}

CgroupIo ParseBlkioBytes(std::string_view text) {
  CgroupIo io;
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    Fields fields(line);
    fields.Skip(1);
    const std::string_view operation = fields.Next();
    const std::uint64_t bytes = fields.NextNumber().value_or(0);
    if (operation == "Read") io.read += bytes;
    if (operation == "Write") io.written += bytes;
  }
  return io;
}

std::optional<std::uint64_t> ParseKeyed(std::string_view text, std::string_view key) {
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    Fields fields(line);
    if (fields.Next() == key) return fields.NextNumber();
  }
  return std::nullopt;
}

}  // namespace headroom
