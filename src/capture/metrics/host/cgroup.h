// Finds the control groups of a process and parses their files: version 1, version 2, or
// controllers in both (hybrid).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Folders of a process's group in one hierarchy: the group first, then its mounted parents. The
/// limits of all of them apply to the process.
struct CgroupLevels {
  bool v2 = false;
  std::vector<std::string> folders;  ///< Empty if the controller is missing.
};

struct Cgroups {
  CgroupLevels cpu, cpu_usage, memory, io;
};

/// Finds the groups of a process. `membership` is the content of /proc/PID/cgroup and `mounts` that
/// of /proc/self/mountinfo. `root` is a prefix of every path.
Cgroups FindCgroups(std::string_view membership, std::string_view mounts, const std::string& root);

/// Values of `cpu.stat`, version 1 or 2. Times are in nanoseconds.
struct CgroupCpuStat {
  std::optional<std::uint64_t> usage;           ///< CPU time; version 2 only.
  std::optional<std::uint64_t> periods;         ///< Periods in which the group was ready to run.
  std::optional<std::uint64_t> throttled;       ///< Periods in which the group was throttled.
  std::optional<std::uint64_t> throttled_time;  ///< Summed over cores.
};
CgroupCpuStat ParseCgroupCpuStat(std::string_view text);

/// Returns the quota in cores from `cpu.max`; nullopt without a quota ("max 100000").
std::optional<double> ParseCpuMax(std::string_view text);
/// Returns the quota in cores from `cpu.cfs_quota_us` and `cpu.cfs_period_us`; nullopt without a
/// quota (-1).
std::optional<double> CpuQuota(std::string_view quota, std::string_view period);

/// Returns a memory limit in bytes; nullopt without a limit. Files without a limit state "max", or
/// in version 1 a number near 2^63 (2^63 rounded down to a page of any size).
std::optional<std::uint64_t> ParseMemoryLimit(std::string_view text);

/// Bytes that a group read and wrote, over all devices.
struct CgroupIo {
  std::uint64_t read = 0, written = 0;
};
/// Parses `io.stat`: "8:0 rbytes=1 wbytes=2 ...".
CgroupIo ParseIoStat(std::string_view text);
/// Parses `blkio.throttle.io_service_bytes`: "8:0 Read 1".
CgroupIo ParseBlkioBytes(std::string_view text);

/// Returns the number after `key` on its line, as in `memory.events`; nullopt if missing.
std::optional<std::uint64_t> ParseKeyed(std::string_view text, std::string_view key);

}  // namespace headroom
