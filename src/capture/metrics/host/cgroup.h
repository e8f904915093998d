// Where the control groups of a process are, and what their files say: version 1, version 2, or
// controllers in both (hybrid).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// The folders of a process's group in one hierarchy: the group itself first, then the groups
/// around it as far as they are mounted. A limit of any of them holds for the process.
struct CgroupLevels {
  bool v2 = false;
  std::vector<std::string> folders;  ///< Empty: the controller is not there.
};

struct Cgroups {
  CgroupLevels cpu, cpu_usage, memory, io;
};

/// Where the groups of a process are. `membership` is /proc/PID/cgroup, `mounts` is
/// /proc/self/mountinfo; `root` comes before each path.
Cgroups FindCgroups(std::string_view membership, std::string_view mounts, const std::string& root);

/// `cpu.stat` of either version. Times in nanoseconds.
struct CgroupCpuStat {
  std::optional<std::uint64_t> usage;           ///< Version 2 only.
  std::optional<std::uint64_t> periods;         ///< In which the group wanted to run.
  std::optional<std::uint64_t> throttled;       ///< Of those, in which it was held back.
  std::optional<std::uint64_t> throttled_time;  ///< Summed over processors.
};
CgroupCpuStat ParseCgroupCpuStat(std::string_view text);

/// A quota in cores from `cpu.max` ("max 100000"); nullopt: none.
std::optional<double> ParseCpuMax(std::string_view text);
/// The same from `cpu.cfs_quota_us` (-1: none) and `cpu.cfs_period_us`.
std::optional<double> CpuQuota(std::string_view quota, std::string_view period);

/// A limit of memory in bytes; nullopt where there is none: "max", or near 2^63, which is how
/// version 1 writes it (2^63 rounded down to a page of whatever size).
std::optional<std::uint64_t> ParseMemoryLimit(std::string_view text);

/// Bytes that a group has read and written, over all devices.
struct CgroupIo {
  std::uint64_t read = 0, written = 0;
};
/// `io.stat`: "8:0 rbytes=1 wbytes=2 ...".
CgroupIo ParseIoStat(std::string_view text);
/// `blkio.throttle.io_service_bytes`: "8:0 Read 1".
CgroupIo ParseBlkioBytes(std::string_view text);

/// A number on a line of its own behind `key`, as in `memory.events`.
std::optional<std::uint64_t> ParseKeyed(std::string_view text, std::string_view key);

}  // namespace headroom
