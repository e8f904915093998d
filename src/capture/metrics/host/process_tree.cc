#include "capture/metrics/host/process_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/fields.h"
#include "capture/metrics/board/folder.h"

namespace headroom {
namespace {

/// Maximum number of processes whose files stay open, four files each. The default limit is 1,024
/// descriptors.
constexpr std::size_t kHeldOpen = 64;
/// Maximum number of processes with separate metrics; others count in the sums only.
constexpr std::size_t kMaxWithMetrics = 64;
constexpr double kNanosecond = 1e-9;

Metric ProcessMetric(std::string name, std::string unit, std::string instance = {},
                     std::string counter = {}) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .scope = MetricScope::kProcess,
          .instance = std::move(instance),
          .counter = std::move(counter)};
}

}  // namespace

std::vector<ScannedProcess> ScanProcesses(const std::string& root, ReadBuffer& buffer) {
  std::vector<ScannedProcess> found;
  for (const std::string& entry : FolderEntries(root + "/proc")) {
    if (!ParseNumber(entry)) continue;
    KernelFile file(fmt::format("{}/proc/{}/stat", root, entry));
    const std::optional<KernelFile::Text> read = file.Read(buffer);
    const std::optional<ProcessStat> stat = read ? ParseProcessStat(read->text) : std::nullopt;
    if (!stat) continue;
    found.push_back({.pid = stat->pid,
                     .parent = stat->parent,
                     .start_ticks = stat->start_ticks,
                     .cpu_ticks = stat->user_ticks + stat->system_ticks,
                     .name = std::string(stat->name)});
  }
  return found;
}

ProcessTreeSource::Member::Member(const std::string& folder, bool hold)
    : stat(folder + "/stat", hold),
      io(folder + "/io", hold),
      schedstat(folder + "/schedstat", hold),
      children(folder + "/task/" + folder.substr(folder.rfind('/') + 1) + "/children", hold) {}

ProcessTreeSource::ProcessTreeSource(std::string root, std::int64_t pid, MetricBoard& board,
                                     double ticks_per_second)
    : root_(std::move(root)),
      pid_(pid),
      ticks_per_second_(ticks_per_second),
      page_bytes_(static_cast<double>(sysconf(_SC_PAGESIZE))),
      status_(fmt::format("{}/proc/{}/status", root_, pid)) {
  const auto rate = [&](const char* name, const char* unit, const char* counter, double rate_scale,
                        double total_scale) {
    return board.AddRate(ProcessMetric(name, unit, "", counter),
                         {.rate_scale = rate_scale, .total_scale = total_scale});
  };
  handed_ids_[kCpuTicks] = rate("process_tree_cpu_pct", "%", "process_tree_cpu_seconds",
                                100 / ticks_per_second_, 1 / ticks_per_second_);
  resident_id_ = board.AddGauge(ProcessMetric("process_tree_rss_bytes", "bytes"));
  handed_ids_[kBytesRead] =
      rate("process_tree_read_bytes_per_s", "bytes/s", "process_tree_read_bytes", 1, 1);
  handed_ids_[kDiskRead] =
      rate("process_tree_disk_read_bytes_per_s", "bytes/s", "process_tree_disk_read_bytes", 1, 1);
  handed_ids_[kDiskWritten] = rate("process_tree_disk_written_bytes_per_s", "bytes/s",
                                   "process_tree_disk_written_bytes", 1, 1);
  wait_id_ = rate("process_tree_runqueue_wait_pct", "%", "process_tree_runqueue_wait_seconds",
                  100 * kNanosecond, kNanosecond);
  handed_ids_[kMajorFaults] =
      rate("process_tree_major_faults_per_s", "1/s", "process_tree_major_faults", 1, 1);
  processes_id_ = board.AddGauge(ProcessMetric("process_tree_processes", "1"));
  threads_id_ = board.AddGauge(ProcessMetric("process_tree_threads", "1"));
  preemptions_id_ = rate("process_preemptions_per_s", "1/s", "process_preemptions", 1, 1);
  cores_id_ = board.AddGauge(ProcessMetric("process_allowed_cores", "cores"));
  Add(pid);
}

ProcessTreeSource::Member& ProcessTreeSource::Add(std::int64_t pid) {
  order_.push_back(pid);
  return members_
      .try_emplace(pid, fmt::format("{}/proc/{}", root_, pid), members_.size() < kHeldOpen)
      .first->second;
}

std::optional<ProcessTreeSource::OwnMetrics> ProcessTreeSource::TakeMetrics(
    const std::string& instance, MetricBoard& board) {
  if (!free_metrics_.empty()) {
    const OwnMetrics metrics = free_metrics_.back();
    free_metrics_.pop_back();
    for (const MetricBoard::Id id :
         {metrics.cpu, metrics.resident, metrics.disk_read, metrics.disk_written, metrics.wait}) {
      board.Rename(id, instance);
    }
    return metrics;
  }
  if (with_metrics_ == kMaxWithMetrics) return std::nullopt;
  ++with_metrics_;
  const auto rate = [&](const char* metric, const char* unit, double scale) {
    return board.AddRate(ProcessMetric(metric, unit, instance),
                         {.rate_scale = scale, .total_scale = 1});
  };
  return OwnMetrics{
      .cpu = rate("process_cpu_pct", "%", 100 / ticks_per_second_),
      .resident = board.AddGauge(ProcessMetric("process_rss_bytes", "bytes", instance)),
      .disk_read = rate("process_disk_read_bytes_per_s", "bytes/s", 1),
      .disk_written = rate("process_disk_written_bytes_per_s", "bytes/s", 1),
      .wait = rate("process_runqueue_wait_pct", "%", 100 * kNanosecond)};
}

std::vector<std::int64_t> ProcessTreeSource::pids() const {
  std::vector<std::int64_t> pids;
  for (const auto& [pid, member] : members_) pids.push_back(pid);
  return pids;
}

void ProcessTreeSource::Adopt(const std::vector<ScannedProcess>& scan) {
  // A parent may have a larger pid than its child, because pids wrap.
  for (bool grew = true; grew;) {
    grew = false;
    for (const ScannedProcess& process : scan) {
      if (!Contains(process.pid) && Contains(process.parent)) {
        Add(process.pid);
        grew = true;
      }
    }
  }
}

void ProcessTreeSource::FindChildren(Member& member, ReadBuffer& buffer) {
  const std::optional<KernelFile::Text> read = member.children.Read(buffer);
  if (!read) return;
  Fields fields(read->text);
  while (const auto child = fields.NextNumber<std::int64_t>()) {
    if (!Contains(*child)) Add(*child);
  }
}

void ProcessTreeSource::Read(SampleRun& run) {
  resident_ = 0;
  threads_ = 0;
  any_io_ = any_wait_ = false;
  const TimeNs at = run.now;
  const auto now_ticks =
      static_cast<std::uint64_t>(Seconds(ReadClock(CLOCK_BOOTTIME) - TimeNs()) * ticks_per_second_);
  // New children are appended in the loop. Parents are read first: if a child still exists when it
  // is read, its parent's counters do not include it yet.
  for (std::size_t next = 0; next < order_.size();) {
    const std::int64_t pid = order_[next++];
    Member& member = members_.at(pid);
    member.gone = !ReadMember(pid, member, run);
  }
  if (run.slow) listed_at_ = now_ticks;
  Bury();
  for (auto& [pid, member] : members_) AddGrowth(member);
  MetricBoard& board = run.board;
  std::array<std::optional<std::uint64_t>, kHanded> handed;
  for (std::size_t i = 0; i < kHanded; ++i) handed[i] = sums_[i].Take();
  const auto wait = wait_.Take();
  if (!members_.empty()) {
    for (const Handed counter : {kCpuTicks, kMajorFaults})
      board.Count(handed_ids_[counter], at, handed[counter]);
    board.Set(resident_id_, resident_);
    board.Set(threads_id_, static_cast<double>(threads_));
    if (any_io_) {
      for (const Handed counter : {kBytesRead, kDiskRead, kDiskWritten})
        board.Count(handed_ids_[counter], at, handed[counter]);
    }
    if (any_wait_) board.Count(wait_id_, at, wait);
  }
  board.Set(processes_id_, static_cast<double>(members_.size()));
  if (run.slow) ReadStatus(run);
}

void ProcessTreeSource::Bury() {
  // Visits children before their parents, so that an exited parent also passes on its children's
  // values.
  for (std::size_t left = order_.size(); left > 0;) {
    const auto member = members_.find(order_[--left]);
    if (!member->second.gone) continue;
    if (const auto parent = members_.find(member->second.parent); parent != members_.end()) {
      for (std::size_t i = 0; i < kHanded; ++i) {
        const Level& level = member->second.levels[i];
        parent->second.levels[i].owed += level.last.value_or(0) + level.owed + level.owed_before;
      }
    }
    if (member->second.metrics) free_metrics_.push_back(*member->second.metrics);
    members_.erase(member);
  }
  std::erase_if(order_, [&](std::int64_t pid) { return !Contains(pid); });
}

void ProcessTreeSource::AddGrowth(Member& member) {
  for (std::size_t i = 0; i < kHanded; ++i) {
    Level& level = member.levels[i];
    if (!level.now) continue;
    std::uint64_t found = 0;
    if (level.last && *level.now > *level.last) {
      std::uint64_t handed_on = *level.now - *level.last;
      // Excludes the process's own increase, which does not come from its children.
      if (level.last_ended && level.now_ended)
        handed_on = *level.now_ended - std::min(*level.now_ended, *level.last_ended);
      const std::uint64_t before = std::min(handed_on, level.owed_before);
      const std::uint64_t since = std::min(handed_on - before, level.owed);
      level.owed -= since;
      found = before + since;
    }
    sums_[i].Add(level.last ? std::optional(*level.last + found) : std::nullopt, *level.now);
    level.owed_before = std::exchange(level.owed, 0);
    level.last = level.now;
    level.last_ended = level.now_ended;
  }
}

bool ProcessTreeSource::ReadMember(std::int64_t pid, Member& member, SampleRun& run) {
  const std::optional<KernelFile::Text> read = member.stat.Read(run.buffer);
  if (!read) return !member.stat.failed();
  const std::optional<ProcessStat> stat = ParseProcessStat(read->text);
  if (!stat) return true;
  // Another process reuses the pid of an exited one.
  if (member.start_ticks && *member.start_ticks != stat->start_ticks) return false;
  const bool known = member.start_ticks.has_value();
  const bool began_since = !known && listed_at_ && stat->start_ticks >= *listed_at_;
  member.start_ticks = stat->start_ticks;
  member.parent = stat->parent;
  const std::string name(stat->name);  // Copied: the next read overwrites the buffer.
  const TimeNs at = run.now;
  std::array<Level, kHanded>& levels = member.levels;
  const std::uint64_t cpu_ticks = stat->user_ticks + stat->system_ticks;
  levels[kCpuTicks].now_ended = stat->child_user_ticks + stat->child_system_ticks;
  levels[kCpuTicks].now = cpu_ticks + *levels[kCpuTicks].now_ended;
  levels[kMajorFaults].now_ended = stat->child_major_faults;
  levels[kMajorFaults].now = stat->major_faults + stat->child_major_faults;
  const double resident = static_cast<double>(stat->resident_pages) * page_bytes_;
  resident_ += resident;
  threads_ += stat->threads;
  std::optional<ProcessIo> io;
  if (const std::optional<KernelFile::Text> text = member.io.Read(run.buffer))
    io = ParseProcessIo(text->text);
  if (io) {
    any_io_ = true;
    levels[kBytesRead].now = io->read;
    levels[kDiskRead].now = io->disk_read;
    levels[kDiskWritten].now = io->disk_written;
  }
  std::optional<std::uint64_t> wait_ns;
  if (const std::optional<KernelFile::Text> text = member.schedstat.Read(run.buffer))
    wait_ns = ParseRunQueueWait(text->text);
  if (run.slow) FindChildren(member, run.buffer);

  if (began_since) {
    for (Level& level : levels) level.last = level.last_ended = 0;
    member.wait_ns = 0;
  }
  if (wait_ns) {
    any_wait_ = true;
    wait_.Add(member.wait_ns, *wait_ns);
    member.wait_ns = wait_ns;
  }
  // A process gets separate metrics at its second sample.
  if (known && !member.metrics)
    member.metrics = TakeMetrics(fmt::format("{} {}", pid, name), run.board);
  if (member.metrics) {
    const OwnMetrics& own = *member.metrics;
    run.board.Count(own.cpu, at, cpu_ticks);
    run.board.Set(own.resident, resident);
    if (io) {
      run.board.Count(own.disk_read, at, io->disk_read);
      run.board.Count(own.disk_written, at, io->disk_written);
    }
    if (wait_ns) run.board.Count(own.wait, at, *wait_ns);
  }
  return true;
}

void ProcessTreeSource::ReadStatus(SampleRun& run) {
  const std::optional<KernelFile::Text> read = status_.Read(run.buffer);
  if (!read) return;
  const ProcessStatus status = ParseProcessStatus(read->text);
  run.board.Count(preemptions_id_, read->at, status.preemptions);
  if (status.allowed_cores) run.board.Set(cores_id_, static_cast<double>(*status.allowed_cores));
}

}  // namespace headroom
