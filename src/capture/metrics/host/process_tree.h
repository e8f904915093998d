// A process and all its descendants: launchers, ranks, loader workers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "capture/metrics/board/metric_source.h"
#include "capture/metrics/host/process_files.h"

namespace headroom {

/// A process found by a scan of all processes.
struct ScannedProcess {
  std::int64_t pid = 0, parent = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t cpu_ticks = 0;  ///< User and system ticks of all threads.
  std::string name;             ///< Any bytes.
};

/// Reads /proc/PID/stat of every process.
std::vector<ScannedProcess> ScanProcesses(const std::string& root, ReadBuffer& buffer);

/// Metrics of each process and of the whole tree.
///
/// Finds children at each slow sample in the kernel's list for the first thread, and in scans of
/// all processes. A process stays in the tree even if its parent exits. Children that start and end
/// between two samples count through the counters of parents that wait for them.
class ProcessTreeSource : public MetricSource {
 public:
  ProcessTreeSource(std::string root, std::int64_t pid, MetricBoard& board,
                    double ticks_per_second = TicksPerSecond());

  void Read(SampleRun& run) override;
  /// Adds the processes of a scan whose parents are in the tree.
  void Adopt(const std::vector<ScannedProcess>& scan);
  bool empty() const { return members_.empty(); }
  bool Contains(std::int64_t pid) const { return members_.contains(pid); }
  std::vector<std::int64_t> pids() const;

 private:
  /// Metrics of one process.
  struct OwnMetrics {
    MetricBoard::Id cpu, resident, disk_read, disk_written, wait;
  };
  /// Counters of an ended process that the kernel adds to the parent's once the parent waits for
  /// it.
  enum Handed : std::size_t {
    kCpuTicks,
    kMajorFaults,
    kBytesRead,
    kDiskRead,
    kDiskWritten,
    kHanded
  };
  /// One such counter of a process, including the part from its ended children.
  struct Level {
    std::optional<std::uint64_t> last, now;
    /// Parts of `last` and `now` from ended children, if the kernel reports them separately.
    std::optional<std::uint64_t> last_ended, now_ended;
    /// Part of the increase of `now` that was already counted, for children that ended since the
    /// previous sample.
    std::uint64_t owed = 0;
    /// Part of `owed` that had not appeared at the previous sample. A sample reads the parent
    /// before the child. If the child ends between the two reads, its counters appear at the parent
    /// one sample later. If a part is still missing then, the kernel added it to no process.
    std::uint64_t owed_before = 0;
  };
  struct Member {
    Member(const std::string& folder, bool hold);
    KernelFile stat, io, schedstat, children;
    std::optional<std::uint64_t> start_ticks;
    std::int64_t parent = 0;
    bool gone = false;
    std::array<Level, kHanded> levels;
    std::optional<std::uint64_t> wait_ns;
    std::optional<OwnMetrics> metrics;
  };

  Member& Add(std::int64_t pid);
  /// Returns separate metrics for a process; nullopt if too many processes have some.
  std::optional<OwnMetrics> TakeMetrics(const std::string& instance, MetricBoard& board);
  /// Returns false if the process has exited.
  bool ReadMember(std::int64_t pid, Member& member, SampleRun& run);
  /// Removes exited processes. Adds the values already counted for each one to the `owed` of its
  /// parent.
  void Bury();
  /// Adds to the sums the increase of `member` and its ended children since the previous sample.
  void AddGrowth(Member& member);
  void ReadStatus(SampleRun& run);
  void FindChildren(Member& member, ReadBuffer& buffer);

  std::string root_;
  std::int64_t pid_;
  double ticks_per_second_;
  double page_bytes_;
  std::map<std::int64_t, Member> members_;
  std::vector<std::int64_t> order_;  ///< Members in order: each after its parent.
  /// Time of the last listing of children, in ticks since boot. The counters of a process that
  /// started later count from 0.
  std::optional<std::uint64_t> listed_at_;
  std::size_t with_metrics_ = 0;
  std::vector<OwnMetrics> free_metrics_;  ///< Metrics of ended processes, to be reused.
  KernelFile status_;

  // Sums of the current sample.
  double resident_ = 0;
  std::uint64_t threads_ = 0;
  bool any_io_ = false, any_wait_ = false;
  std::array<CounterSum, kHanded> sums_;
  CounterSum wait_;

  std::array<MetricBoard::Id, kHanded> handed_ids_;
  MetricBoard::Id resident_id_, wait_id_, processes_id_, threads_id_, preemptions_id_, cores_id_;
};

}  // namespace headroom
