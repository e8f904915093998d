// Reads the CPU utilization from /proc/stat.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// A line `cpu...` of /proc/stat, in ticks of the kernel. Missing columns are 0. The columns guest
/// and guest_nice are not kept: user and nice already include their time.
struct CpuTimes {
  std::uint64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0,
                steal = 0;
};

struct ProcStat {
  struct Core {
    int id = 0;  ///< Number in the kernel; offline cores leave gaps.
    CpuTimes times;
  };
  std::optional<CpuTimes> all;
  std::vector<Core> cores;
  std::optional<std::uint64_t> context_switches;
  std::optional<std::uint64_t> running, blocked;  ///< Numbers of tasks.
};

/// Fills `stat` and reuses its memory.
void ParseProcStat(std::string_view text, ProcStat& stat);

/// Shares of the time between two readings, in %.
struct CpuShares {
  double busy, user, system, iowait, steal;
};

/// Returns nullopt if no time passed or a counter of busy time went backwards. Waiting for I/O does
/// not count as busy, as in psutil. Idle counters can go backwards (proc(5) warns of iowait); they
/// then count as unchanged.
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
