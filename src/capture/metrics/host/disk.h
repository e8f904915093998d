// Reads the disk traffic from /proc/diskstats and /sys/block/NAME/stat.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// A line of /proc/diskstats, counted since the disk appeared. /sys/block/NAME/stat has the same
/// numbers.
struct DiskCounters {
  std::uint64_t reads = 0, writes = 0;                  ///< Completed requests.
  std::uint64_t sectors_read = 0, sectors_written = 0;  ///< Sectors of kSectorBytes each.
  std::uint64_t busy_ms = 0;  ///< Time with requests in flight; a 32-bit number in the kernel.
};

/// Sector size of /proc/diskstats, independent of the disk's own.
constexpr std::uint64_t kSectorBytes = 512;

struct DiskLine {
  std::string_view name;  ///< Points into the parsed string.
  DiskCounters counters;
};

/// Fills `disks` with every block device in `text`, including partitions.
void ParseDiskStats(std::string_view text, std::vector<DiskLine>& disks);
/// Parses /sys/block/NAME/stat. Returns nullopt if `text` is not such a line.
std::optional<DiskCounters> ParseDiskStat(std::string_view text);

/// Sums cover whole hardware disks (including virtual machines' disks). Excludes partitions and
/// volumes made of disks (device mapper, RAID), which count the same traffic again.
///
/// Looks for disks about once per second. In between, if there are few, reads each disk's own file.
/// This spares the kernel from summing every partition and loop device.
class DiskSource : public MetricSource {
 public:
  DiskSource(const std::string& root, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  struct Disk {
    bool counted = false;            ///< A whole disk.
    std::optional<KernelFile> stat;  ///< Its own file in /sys.
    std::optional<DiskCounters> last;
    TimeNs at;
    bool present = false;  ///< Present in this sample.
    MetricBoard::Id busy = 0;
  };
  /// Returns the folder of a whole disk in /sys/block.
  std::string FolderOf(std::string_view name) const;
  /// Counts all disks of /proc/diskstats. Returns the time of the read; nullopt if the read failed
  /// or there is no whole disk.
  std::optional<TimeNs> ReadAll(SampleRun& run);
  /// As ReadAll(), from the disks' own files. Returns nullopt and counts nothing if a file cannot
  /// be read or there are many disks.
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
