// Limits, use and throttling of a process's control group.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/host/cgroup.h"
#include "capture/metrics/host/pressure.h"

namespace headroom {

/// The reported limit is the smallest among the group and its parents. The reported throttling is
/// the largest among them in each interval.
class CgroupSource : public MetricSource {
 public:
  CgroupSource(const Cgroups& groups, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  struct CpuLevel {
    KernelFile stat;
    std::optional<KernelFile> max;            ///< Version 2.
    std::optional<KernelFile> quota, period;  ///< Version 1.
    std::optional<double> limit;              ///< In cores, as last read.
    CgroupCpuStat last;
  };
  struct MemoryLevel {
    KernelFile usage, limit_file;
    std::optional<std::uint64_t> limit;  ///< In bytes, as last read.
  };

  void ReadCpu(SampleRun& run);
  void ReadMemory(SampleRun& run);
  void ReadIo(SampleRun& run);
  static std::optional<double> Limit(CpuLevel& level, ReadBuffer& buffer);

  std::vector<CpuLevel> cpu_;
  std::optional<KernelFile> usage_;  ///< `cpuacct.usage`; version 1 only.
  std::vector<MemoryLevel> memory_;
  std::optional<KernelFile> memory_events_;
  std::optional<KernelFile> io_;
  bool io_v2_ = false;
  std::optional<PressureSource> pressure_;
  std::uint64_t throttled_ns_ = 0;  ///< Sum over intervals of the largest throttled time.

  MetricBoard::Id cores_id_ = 0, limit_id_ = 0, periods_id_ = 0, throttled_id_ = 0;
  MetricBoard::Id memory_id_ = 0, memory_limit_id_ = 0, memory_free_id_ = 0, kills_id_ = 0;
  MetricBoard::Id read_id_ = 0, written_id_ = 0;
};

}  // namespace headroom
