// A process, and whatever it starts: launchers, ranks, loader workers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/metrics/metric_source.h"
#include "capture/metrics/process_files.h"

namespace headroom {

/// A process as a scan of all of them finds it.
struct ScannedProcess {
  std::int64_t pid = 0, parent = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;  ///< User and system, all threads.
  std::string name;             ///< Any bytes.
};

/// Reads /proc/PID/stat of every process that there is.
std::vector<ScannedProcess> ScanProcesses(const std::string& root, ReadBuffer& buffer);

/// Figures of each process and of all together. Children are found in the list that the kernel
/// keeps of the first thread's, at each sample, and in scans of all processes; a process once in
/// the tree stays, also when its parent is gone.
class ProcessTreeSource : public MetricSource {
 public:
  ProcessTreeSource(std::string root, std::int64_t pid, MetricBoard& board,
                    double ticks_per_second = TicksPerSecond());

  void Read(SampleRun& run) override;
  /// Takes in the processes of a scan whose parents are in the tree.
  void Adopt(const std::vector<ScannedProcess>& scan);
  bool empty() const { return members_.empty(); }
  bool Contains(std::int64_t pid) const { return members_.contains(pid); }
  std::vector<std::int64_t> pids() const;

 private:
  /// Metrics of one process.
  struct OwnMetrics {
    MetricBoard::Id cpu, resident, disk_read, disk_written, wait;
  };
  struct Counts {
    std::uint64_t user_and_system = 0, major_faults = 0;
    std::optional<ProcessIo> io;
    std::optional<std::uint64_t> wait_ns;
  };
  struct Member {
    Member(const std::string& folder, bool hold);
    KernelFile stat, io, schedstat, children;
    std::optional<std::uint64_t> start_ticks;
    Counts last;
    std::optional<OwnMetrics> metrics;
  };

  Member& Add(std::int64_t pid);
  std::map<std::int64_t, Member>::iterator Remove(std::map<std::int64_t, Member>::iterator member);
  /// Metrics for one more process; nullopt: too many have some.
  std::optional<OwnMetrics> TakeMetrics(const std::string& instance, MetricBoard& board);
  /// false: the process is gone.
  bool ReadMember(std::int64_t pid, Member& member, SampleRun& run);
  void ReadStatus(SampleRun& run);
  void FindChildren(Member& member, ReadBuffer& buffer);

  std::string root_;
  std::int64_t pid_;
  double ticks_per_second_;
  double page_bytes_;
  std::map<std::int64_t, Member> members_;
  std::vector<std::int64_t> found_;  ///< Children that are not members yet.
  std::size_t with_metrics_ = 0;
  std::vector<OwnMetrics> free_metrics_;  ///< Of processes that ended.
  KernelFile status_;

  // Sums of the sample in the making.
  double resident_ = 0;
  std::uint64_t threads_ = 0;
  bool any_io_ = false, any_wait_ = false;
  CounterSum cpu_, read_, disk_read_, disk_written_, wait_, faults_;

  MetricBoard::Id cpu_id_, resident_id_, read_id_, disk_read_id_, disk_written_id_, wait_id_;
  MetricBoard::Id faults_id_, processes_id_, threads_id_, preemptions_id_, cores_id_;
};

}  // namespace headroom
