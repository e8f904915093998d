// Parses the files of /proc/PID: stat, io, schedstat, status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// Returns the number of kernel ticks per second, the unit of CPU times in /proc.
double TicksPerSecond();

/// Values of /proc/PID/stat. Times are in ticks, summed over all threads.
struct ProcessStat {
  std::int64_t pid = 0;
  std::string_view name;  ///< Any bytes except NUL, at most 15; points into the parsed string.
  std::int64_t parent = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t user_ticks = 0, system_ticks = 0;
  /// Totals of the children that the process has waited for, including the children that those
  /// waited for.
  std::uint64_t child_major_faults = 0;
  std::uint64_t child_user_ticks = 0, child_system_ticks = 0;
  std::uint64_t threads = 0;
  /// Start time since boot; distinguishes a process from a later one with the same pid.
  std::uint64_t start_ticks = 0;
  std::uint64_t resident_pages = 0;
};
/// Parses a line of /proc/PID/stat. Returns nullopt if `text` is not such a line. The name ends at
/// the last ')', because it may contain others.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

/// Values of /proc/PID/io, in bytes. Includes children that the process has waited for.
struct ProcessIo {
  /// Read and written by system calls, including page cache and pipes.
  std::uint64_t read = 0, written = 0;
  std::uint64_t disk_read = 0, disk_written = 0;  ///< Traffic to and from disks.
};
std::optional<ProcessIo> ParseProcessIo(std::string_view text);

/// Returns the second number of /proc/PID/schedstat: nanoseconds in which a thread was runnable and
/// waited for a CPU. /proc/PID covers the first thread only.
std::optional<std::uint64_t> ParseRunQueueWait(std::string_view text);

/// Values of /proc/PID/status; nullopt if a line is missing.
struct ProcessStatus {
  std::optional<std::uint64_t> preemptions;    ///< Preemptions of the first thread since its start.
  std::optional<std::uint64_t> allowed_cores;  ///< Number of cores that it may run on.
};
ProcessStatus ParseProcessStatus(std::string_view text);

/// Returns the number of entries in a kernel list: "0-3,8" has 5. Returns nullopt if `list` is not
/// such a list.
std::optional<std::uint64_t> CountInList(std::string_view list);

}  // namespace headroom
