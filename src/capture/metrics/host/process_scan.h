// Scans all processes for CPU use outside the process tree. The duration of a scan limits its
// frequency.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/board/sample_interval.h"
#include "capture/metrics/host/process_files.h"
#include "capture/metrics/host/process_tree.h"

namespace headroom {

/// Reports the five largest processes outside the tree that used at least a quarter of a core
/// between two scans. Misses a process that starts and ends between two scans.
class ProcessScan : public MetricSource {
 public:
  /// @param tree  adopts the processes of each scan and must outlive this object; null: all
  ///     processes are foreign
  ProcessScan(std::string root, ProcessTreeSource* tree, double ticks_per_second = TicksPerSecond())
      : root_(std::move(root)), tree_(tree), ticks_per_second_(ticks_per_second) {}
  void Read(SampleRun& run) override;

 private:
  struct Seen {
    std::uint64_t start_ticks, cpu_ticks;
  };

  std::string root_;
  ProcessTreeSource* tree_;
  double ticks_per_second_;
  SampleInterval pace_{/*factor=*/5000, DurationNs(60'000'000'000)};
  std::map<std::int64_t, Seen> last_;
  TimeNs last_at_;
  std::vector<ResourceUser> users_;  ///< Processes that the last scan found.
};

}  // namespace headroom
