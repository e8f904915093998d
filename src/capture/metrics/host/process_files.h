// What /proc/PID tells of a process: stat, io, schedstat, status.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom {

/// Of the kernel's processor times.
double TicksPerSecond();

/// /proc/PID/stat. Times in ticks, of all its threads.
struct ProcessStat {
  std::int64_t pid = 0;
  std::string_view name;  ///< Any bytes but NUL, at most 15; part of the text.
  std::int64_t parent = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t user_ticks = 0, system_ticks = 0;
  /// The same of its children that it waited for, and of those that they had waited for.
  std::uint64_t child_major_faults = 0;
  std::uint64_t child_user_ticks = 0, child_system_ticks = 0;
  std::uint64_t threads = 0;
  std::uint64_t start_ticks = 0;  ///< Since boot; tells a process from a later one of its number.
  std::uint64_t resident_pages = 0;
};
/// nullopt where the text is no such line. The name ends at the last ')': it may hold others.
std::optional<ProcessStat> ParseProcessStat(std::string_view text);

/// /proc/PID/io, in bytes; of its children that it waited for, too.
struct ProcessIo {
  std::uint64_t read = 0, written = 0;  ///< By system calls, from whatever, page cache included.
  std::uint64_t disk_read = 0, disk_written = 0;  ///< That had to go to a disk.
};
std::optional<ProcessIo> ParseProcessIo(std::string_view text);

/// The second number of /proc/PID/schedstat: nanoseconds that a thread could run and waited for a
/// processor. In /proc/PID it is of the first thread only.
std::optional<std::uint64_t> ParseRunQueueWait(std::string_view text);

/// Of /proc/PID/status; nullopt where a line is not there.
struct ProcessStatus {
  std::optional<std::uint64_t> preemptions;    ///< Of the first thread, since it began.
  std::optional<std::uint64_t> allowed_cores;  ///< That it may run on.
};
ProcessStatus ParseProcessStatus(std::string_view text);

/// How many a list of the kernel names: "0-3,8" is 5. nullopt where it is no such list.
std::optional<std::uint64_t> CountInList(std::string_view list);

}  // namespace headroom
