#include "capture/metrics/host/disk.h"

#include <unistd.h>

#include <algorithm>
#include <optional>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/fields.h"

namespace headroom {

namespace {

/// Above this number of disks, one file for all is cheaper than one file each.
constexpr std::size_t kFewDisks = 4;

/// Parses the counters after a disk's name.
std::optional<DiskCounters> ParseCounters(Fields& fields) {
  const auto next = [&] { return fields.NextNumber(); };
  const auto reads = next();
  fields.Skip(1);  // Merged.
  const auto sectors_read = next();
  fields.Skip(1);  // Time.
  const auto writes = next();
  fields.Skip(1);
  const auto sectors_written = next();
  fields.Skip(2);  // Time, requests in flight.
  const auto busy_ms = next();
  // Before Linux 2.6.25, a partition had four numbers.
  if (!reads || !sectors_read || !writes || !sectors_written || !busy_ms) return std::nullopt;
  return DiskCounters{.reads = *reads,
                      .writes = *writes,
                      .sectors_read = *sectors_read,
                      .sectors_written = *sectors_written,
                      .busy_ms = *busy_ms};
}

}  // namespace

void ParseDiskStats(std::string_view text, std::vector<DiskLine>& disks) {
  disks.clear();
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    Fields fields(line);
    fields.Skip(2);  // Major and minor number.
    const std::string_view name = fields.Next();
    const std::optional<DiskCounters> counters = ParseCounters(fields);
    if (!name.empty() && counters) disks.push_back({.name = name, .counters = *counters});
  }
}

std::optional<DiskCounters> ParseDiskStat(std::string_view text) {
  Fields fields(text);
  return ParseCounters(fields);
}

DiskSource::DiskSource(const std::string& root, MetricBoard& board)
    : root_(root),
      file_(root + "/proc/diskstats"),
      iops_id_(board.AddRate({.name = "disk_iops", .unit = "1/s", .counter = "disk_requests"})),
      read_id_(board.AddRate(
          {.name = "disk_throughput_read", .unit = "bytes/s", .counter = "disk_read_bytes"},
          {.rate_scale = kSectorBytes, .total_scale = kSectorBytes})),
      written_id_(board.AddRate(
          {.name = "disk_throughput_write", .unit = "bytes/s", .counter = "disk_written_bytes"},
          {.rate_scale = kSectorBytes, .total_scale = kSectorBytes})) {}

std::string DiskSource::FolderOf(std::string_view name) const {
  // A name may contain a slash (cciss/c0d0), which sysfs writes as an exclamation mark.
  std::string file(name);
  std::replace(file.begin(), file.end(), '/', '!');
  return root_ + "/sys/block/" + file;
}

void DiskSource::Count(Disk& disk, const DiskCounters& now, TimeNs at, MetricBoard& board) {
  const auto last = [&](auto member) {
    return disk.last ? std::optional((*disk.last).*member) : std::nullopt;
  };
  requests_.Add(last(&DiskCounters::reads), now.reads);
  requests_.Add(last(&DiskCounters::writes), now.writes);
  read_.Add(last(&DiskCounters::sectors_read), now.sectors_read);
  written_.Add(last(&DiskCounters::sectors_written), now.sectors_written);
  const double seconds = Seconds(at - disk.at);
  if (disk.last && seconds > 0) {
    // The kernel counts the time in 32 bits and lets it wrap.
    const auto grown =
        static_cast<std::uint32_t>(now.busy_ms) - static_cast<std::uint32_t>(disk.last->busy_ms);
    // A counter that went backwards looks like a wrap after weeks of work.
    const double percent = 100 * (static_cast<double>(grown) / 1e3) / seconds;
    constexpr double kImpossible = 200;  // The kernel's ticks may exceed 100 % slightly.
    if (percent < kImpossible) board.Set(disk.busy, std::min(percent, 100.0));
  }
  disk.last = now;
  disk.at = at;
}

std::optional<TimeNs> DiskSource::ReadAll(SampleRun& run) {
  const std::optional<KernelFile::Text> read = file_.Read(run.buffer);
  if (!read) return std::nullopt;
  ParseDiskStats(read->text, lines_);
  for (auto& [name, disk] : disks_) disk.present = false;
  bool any = false;
  for (const DiskLine& line : lines_) {
    auto found = disks_.find(line.name);
    if (found == disks_.end()) {
      found = disks_.emplace(std::string(line.name), Disk()).first;
      found->second.counted = access((FolderOf(line.name) + "/device").c_str(), F_OK) == 0;
      if (found->second.counted) {
        found->second.busy = run.board.AddShare({.name = "disk_busy_pct",
                                                 .unit = "%",
                                                 .scope = MetricScope::kDevice,
                                                 .instance = found->first});
      }
    }
    Disk& disk = found->second;
    if (!disk.counted) continue;
    any = disk.present = true;
    // A disk that disappeared and returned has a new file.
    if (!disk.stat || disk.stat->failed()) disk.stat.emplace(FolderOf(line.name) + "/stat");
    Count(disk, line.counters, read->at, run.board);
  }
  for (auto& [name, disk] : disks_) {
    if (!disk.present) disk.last.reset();
  }
  return any ? std::optional(read->at) : std::nullopt;
}

std::optional<TimeNs> DiskSource::ReadEach(SampleRun& run) {
  read_each_.clear();
  TimeNs at;
  for (auto& [name, disk] : disks_) {
    if (!disk.present) continue;
    if (read_each_.size() == kFewDisks) return std::nullopt;
    const std::optional<KernelFile::Text> read = disk.stat->Read(run.buffer);
    const std::optional<DiskCounters> counters = read ? ParseDiskStat(read->text) : std::nullopt;
    if (!counters) return std::nullopt;
    read_each_.push_back(*counters);
    at = read->at;
  }
  if (read_each_.empty()) return std::nullopt;
  auto counters = read_each_.begin();
  for (auto& [name, disk] : disks_) {
    if (disk.present) Count(disk, *counters++, at, run.board);
  }
  return at;
}

void DiskSource::Read(SampleRun& run) {
  std::optional<TimeNs> at = run.slow ? std::nullopt : ReadEach(run);
  if (!at) at = ReadAll(run);
  if (!at) return;
  run.board.Count(iops_id_, *at, requests_.Take());
  run.board.Count(read_id_, *at, read_.Take());
  run.board.Count(written_id_, *at, written_.Take());
}

}  // namespace headroom
