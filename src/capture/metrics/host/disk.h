// /proc/diskstats and /sys/block/NAME/stat: traffic of the disks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// A line of /proc/diskstats, from when the disk came; /sys/block/NAME/stat has the same numbers.
struct DiskCounters {
  std::uint64_t reads = 0, writes = 0;                  ///< Completed.
  std::uint64_t sectors_read = 0, sectors_written = 0;  ///< Of kSectorBytes each.
  std::uint64_t busy_ms = 0;  ///< Time with requests under way; a 32-bit number in the kernel.
};

/// What a sector of /proc/diskstats is, whatever those of the disk are.
constexpr std::uint64_t kSectorBytes = 512;

struct DiskLine {
  std::string_view name;  ///< Part of the text.
  DiskCounters counters;
};

/// Fills `disks` with every block device of the text: disks, partitions, whatever else.
void ParseDiskStats(std::string_view text, std::vector<DiskLine>& disks);
/// Of /sys/block/NAME/stat; nullopt where the text is no such line.
std::optional<DiskCounters> ParseDiskStat(std::string_view text);

/// Sums are over whole disks that are hardware (of a virtual machine, too): what goes to a
/// partition or to a volume made of disks (device mapper, RAID) is there once more under its own
/// name. Which disks there are is looked up about once a second; in between, where they are few,
/// each is asked by itself, which spares the kernel from adding up every partition and loop device.
class DiskSource : public MetricSource {
 public:
  DiskSource(const std::string& root, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  struct Disk {
    bool counted = false;            ///< Whether it is a whole disk.
    std::optional<KernelFile> stat;  ///< Its own file in /sys.
    std::optional<DiskCounters> last;
    TimeNs at;
    bool present = false;  ///< In this sample.
    MetricBoard::Id busy = 0;
  };
  /// The folder of a whole disk in /sys/block.
  std::string FolderOf(std::string_view name) const;
  /// Counts all disks of /proc/diskstats. Returns when they were read; nullopt: not, or none
  /// counts.
  std::optional<TimeNs> ReadAll(SampleRun& run);
  /// The same by the disks' own files. nullopt where that cannot be done; nothing is counted then.
  std::optional<TimeNs> ReadEach(SampleRun& run);
  void Count(Disk& disk, const DiskCounters& now, TimeNs at, MetricBoard& board);

  std::string root_;
  KernelFile file_;
  std::vector<DiskLine> lines_;
  std::vector<DiskCounters> read_each_;
  std::map<std::string, Disk, std::less<>> disks_;
  CounterSum requests_, read_, written_;
  MetricBoard::Id iops_id_, read_id_, written_id_;
};

}  // namespace headroom
