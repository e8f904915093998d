#include "capture/metrics/host/process_files.h"

#include <unistd.h>

#include <algorithm>

#include "capture/metrics/board/fields.h"
#include "capture/metrics/host/cgroup.h"

namespace headroom {

double TicksPerSecond() { return static_cast<double>(sysconf(_SC_CLK_TCK)); }

std::optional<ProcessStat> ParseProcessStat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  ProcessStat stat;
  const auto pid = Fields(text.substr(0, open)).NextNumber<std::int64_t>();
  stat.name = text.substr(open + 1, close - open - 1);
  Fields fields(text.substr(close + 1));
  // Field numbers are those of proc(5), where the state after the name is field 3.
  fields.Skip(1);
  const auto parent = fields.NextNumber<std::int64_t>();  // 4
  fields.Skip(7);
  const auto major_faults = fields.NextNumber();        // 12
  const auto child_major_faults = fields.NextNumber();  // 13
  const auto user = fields.NextNumber();                // 14
  const auto system = fields.NextNumber();              // 15
  const auto child_user = fields.NextNumber();          // 16
  const auto child_system = fields.NextNumber();        // 17
  fields.Skip(2);
  const auto threads = fields.NextNumber();  // 20
  fields.Skip(1);
  const auto start = fields.NextNumber();  // 22
  fields.Skip(1);
  const auto resident = fields.NextNumber();  // 24
  if (!pid || !parent || !major_faults || !child_major_faults || !user || !system || !child_user ||
      !child_system || !threads || !start || !resident) {
    return std::nullopt;
  }
  stat.pid = *pid;
  stat.parent = *parent;
  stat.major_faults = *major_faults;
  stat.user_ticks = *user;
  stat.system_ticks = *system;
  stat.child_major_faults = *child_major_faults;
  stat.child_user_ticks = *child_user;
  stat.child_system_ticks = *child_system;
  stat.threads = *threads;
  stat.start_ticks = *start;
  stat.resident_pages = *resident;
  return stat;
}

std::optional<ProcessIo> ParseProcessIo(std::string_view text) {
  const auto read = ParseKeyed(text, "rchar:");
  const auto written = ParseKeyed(text, "wchar:");
  const auto disk_read = ParseKeyed(text, "read_bytes:");
  const auto disk_written = ParseKeyed(text, "write_bytes:");
  if (!read || !written || !disk_read || !disk_written) return std::nullopt;
  return ProcessIo{
      .read = *read, .written = *written, .disk_read = *disk_read, .disk_written = *disk_written};
}

std::optional<std::uint64_t> ParseRunQueueWait(std::string_view text) {
  Fields fields(text);
  fields.Skip(1);
  return fields.NextNumber();
}

ProcessStatus ParseProcessStatus(std::string_view text) {
  ProcessStatus status;
  status.preemptions = ParseKeyed(text, "nonvoluntary_ctxt_switches:");
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    Fields fields(line);
    if (fields.Next() == "Cpus_allowed_list:") status.allowed_cores = CountInList(fields.Next());
  }
  return status;
}

std::optional<std::uint64_t> CountInList(std::string_view list) {
  std::uint64_t count = 0;
  while (!list.empty()) {
    const std::string_view range = list.substr(0, list.find(','));
    list.remove_prefix(std::min(range.size() + 1, list.size()));
    const std::size_t dash = range.find('-');
    const auto first = ParseNumber(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : ParseNumber(range.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    count += *last - *first + 1;
  }
  return count > 0 ? std::optional(count) : std::nullopt;
}

}  // namespace headroom
