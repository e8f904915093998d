// Parses the files of /proc/PID: stat, io, schedstat, status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// Returns the resolution of the kernel's processor times.
double TicksPerSecond();

/// /proc/PID/stat. Times are in ticks, summed over all its threads.
struct ProcessStat {
  std::int64_t pid = 0;
  std::string_view name;  ///< Any bytes except NUL, at most 15; part of the text.
  std::int64_t parent = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t user_ticks = 0, system_ticks = 0;
  /// Totals of the children that it waited for, and of the children that those waited for.
  std::uint64_t child_major_faults = 0;
  std::uint64_t child_user_ticks = 0, child_system_ticks = 0;
  std::uint64_t threads = 0;
  /// Since boot; distinguishes a process from a later one with the same pid.
  std::uint64_t start_ticks = 0;
  std::uint64_t resident_pages = 0;
};
/// Parses a line of /proc/PID/stat. Returns nullopt if the text is not such a line. The name ends
/// at the last ')', because it may contain others.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

/// /proc/PID/io, in bytes. Includes children that it waited for.
struct ProcessIo {
  /// By system calls, from any source, including the page cache.
  std::uint64_t read = 0, written = 0;
  std::uint64_t disk_read = 0, disk_written = 0;  ///< Traffic to and from disks.
};
std::optional<ProcessIo> ParseProcessIo(std::string_view text);

/// Returns the second number of /proc/PID/schedstat: nanoseconds in which a thread was ready and
/// waited for a processor. /proc/PID covers the first thread only.
std::optional<std::uint64_t> ParseRunQueueWait(std::string_view text);

/// Values of /proc/PID/status; nullopt if a line is missing.
struct ProcessStatus {
  std::optional<std::uint64_t> preemptions;    ///< Preemptions of the first thread since its start.
  std::optional<std::uint64_t> allowed_cores;  ///< Cores that it may run on.
};
ProcessStatus ParseProcessStatus(std::string_view text);

/// Returns the number of entries in a kernel list: "0-3,8" has 5. Returns nullopt if the text is
/// not such a list.
std::optional<std::uint64_t> CountInList(std::string_view list);

}  // namespace headroom
