// A process, and whatever it starts: launchers, ranks, loader workers.
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
/// keeps of the first thread's, at each slow sample, and in scans of all processes; a process once
/// in the tree stays, also when its parent is gone. What children took that came and went between
/// two samples is in the counters of the processes that waited for them.
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
  /// What a process hands on when it ends: the kernel adds it to that of the parent, once that
  /// waits for it.
  enum Handed : std::size_t {
    kCpuTicks,
    kMajorFaults,
    kBytesRead,
    kDiskRead,
    kDiskWritten,
    kHanded
  };
  /// One such counter of a process, with what its ended children handed on.
  struct Level {
    std::optional<std::uint64_t> last, now;
    /// Of `last` and `now`, what ended children handed on, where the kernel tells that by itself.
    std::optional<std::uint64_t> last_ended, now_ended;
    /// Counted already, as that of children that are gone since the sample before: part of what
    /// `now` grew by.
    std::uint64_t owed = 0;
    /// The same of the sample before, as far as it was not found then: a child that ended between
    /// the reading of its parent and its own shows at its parent a sample later. Whatever is left
    /// after that was handed to nobody.
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
  /// Metrics for one more process; nullopt: too many have some.
  std::optional<OwnMetrics> TakeMetrics(const std::string& instance, MetricBoard& board);
  /// false: the process is gone.
  bool ReadMember(std::int64_t pid, Member& member, SampleRun& run);
  /// Takes the gone ones out, and notes at their parents what was counted of them.
  void Bury();
  /// Adds what `member` and its ended children counted since the sample before.
  void AddGrowth(Member& member);
  void ReadStatus(SampleRun& run);
  void FindChildren(Member& member, ReadBuffer& buffer);

  std::string root_;
  std::int64_t pid_;
  double ticks_per_second_;
  double page_bytes_;
  std::map<std::int64_t, Member> members_;
  std::vector<std::int64_t> order_;  ///< Of the members: each behind its parent.
  /// When the children were listed last, in ticks since boot: what began later is new as a whole.
  std::optional<std::uint64_t> listed_at_;
  std::size_t with_metrics_ = 0;
  std::vector<OwnMetrics> free_metrics_;  ///< Of processes that ended.
  KernelFile status_;

  // Sums of the sample in the making.
  double resident_ = 0;
  std::uint64_t threads_ = 0;
  bool any_io_ = false, any_wait_ = false;
  std::array<CounterSum, kHanded> sums_;
  CounterSum wait_;

  std::array<MetricBoard::Id, kHanded> handed_ids_;
  MetricBoard::Id resident_id_, wait_id_, processes_id_, threads_id_, preemptions_id_, cores_id_;
};

}  // namespace headroom
