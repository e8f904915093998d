// Who uses the processors: a scan of all processes, as seldom as its cost asks for.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/board/sample_interval.h"
#include "capture/metrics/host/process_files.h"
#include "capture/metrics/host/process_tree.h"

namespace headroom {

/// Names the processes outside the tree that took a quarter of a core or more between two scans,
/// the five largest. A process that came and went between two scans is not seen.
class ProcessScan : public MetricSource {
 public:
  /// `tree` takes in the processes of each scan and outlives this; null: every process is foreign.
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
  std::vector<ResourceUser> users_;  ///< Of the last interval, until the next scan.
};

}  // namespace headroom
