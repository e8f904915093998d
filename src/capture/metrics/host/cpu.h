// /proc/stat: how busy the processors are.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// A line `cpu...` of /proc/stat, in ticks of the kernel. What a kernel does not count is 0. The
/// columns guest and guest_nice are not kept: their time is in user and nice already.
struct CpuTimes {
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0,
                steal = 0;
};

struct ProcStat {
  struct Core {
    int id = 0;  ///< As the kernel numbers it; numbers are missing where cores are off.
    CpuTimes times;
  };
  std::optional<CpuTimes> all;
  std::vector<Core> cores;
  std::optional<std::uint64_t> context_switches;
  std::optional<std::uint64_t> running, blocked;  ///< Tasks.
};

/// Fills `stat`, whose memory is used again.
void ParseProcStat(std::string_view text, ProcStat& stat);

/// Shares of the time between two readings, in %.
struct CpuShares {
  double busy, user, system, iowait, steal;
};

/// nullopt where no time passed or a counter of busy time went backwards. Waiting for I/O is no
/// busy time, as psutil has it. The counters of idle time do go backwards at times (proc(5) warns
/// of iowait): they then count as not having moved.
std::optional<CpuShares> SharesBetween(const CpuTimes& last, const CpuTimes& now);

class CpuSource : public MetricSource {
 public:
  CpuSource(const std::string& root, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  KernelFile file_;
  ProcStat last_, now_;
  MetricBoard::Id util_, busiest_, user_, system_, iowait_, steal_, running_, blocked_, switches_;
};

}  // namespace headroom
