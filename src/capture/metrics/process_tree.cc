#include "capture/metrics/process_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "capture/metrics/fields.h"
#include "capture/metrics/folder.h"

namespace headroom {
namespace {

/// Processes whose files stay open: four each, of the 1024 descriptors that a process usually has.
constexpr std::size_t kHeldOpen = 64;
/// Processes that have metrics of their own at a time; beyond them only the sums grow.
constexpr std::size_t kMostWithMetrics = 64;
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
  cpu_id_ = rate("process_tree_cpu_pct", "%", "process_tree_cpu_seconds", 100 / ticks_per_second_,
                 1 / ticks_per_second_);
  resident_id_ = board.AddGauge(ProcessMetric("process_tree_rss_bytes", "bytes"));
  read_id_ = rate("process_tree_read_bytes_per_s", "bytes/s", "process_tree_read_bytes", 1, 1);
  disk_read_id_ =
      rate("process_tree_disk_read_bytes_per_s", "bytes/s", "process_tree_disk_read_bytes", 1, 1);
  disk_written_id_ = rate("process_tree_disk_written_bytes_per_s", "bytes/s",
                          "process_tree_disk_written_bytes", 1, 1);
  wait_id_ = rate("process_tree_runqueue_wait_pct", "%", "process_tree_runqueue_wait_seconds",
                  100 * kNanosecond, kNanosecond);
  faults_id_ = rate("process_tree_major_faults_per_s", "1/s", "process_tree_major_faults", 1, 1);
  processes_id_ = board.AddGauge(ProcessMetric("process_tree_processes", "1"));
  threads_id_ = board.AddGauge(ProcessMetric("process_tree_threads", "1"));
  preemptions_id_ = rate("process_preemptions_per_s", "1/s", "process_preemptions", 1, 1);
  cores_id_ = board.AddGauge(ProcessMetric("process_allowed_cores", "cores"));
  Add(pid);
}

ProcessTreeSource::Member& ProcessTreeSource::Add(std::int64_t pid) {
  return members_
      .try_emplace(pid, fmt::format("{}/proc/{}", root_, pid), members_.size() < kHeldOpen)
      .first->second;
}

std::map<std::int64_t, ProcessTreeSource::Member>::iterator ProcessTreeSource::Remove(
    std::map<std::int64_t, Member>::iterator member) {
  if (member->second.metrics) free_metrics_.push_back(*member->second.metrics);
  return members_.erase(member);
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
  if (with_metrics_ == kMostWithMetrics) return std::nullopt;
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
  // A parent may have a larger number than its child: numbers begin again.
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
    if (!Contains(*child)) found_.push_back(*child);
  }
}

void ProcessTreeSource::Read(SampleRun& run) {
  resident_ = 0;
  threads_ = 0;
  any_io_ = any_wait_ = false;
  found_.clear();
  const TimeNs at = run.now;
  std::uint64_t processes = 0;
  for (auto member = members_.begin(); member != members_.end();) {
    if (ReadMember(member->first, member->second, run)) {
      ++processes;
      ++member;
    } else {
      member = Remove(member);
    }
  }
  // Children of children that are new show at the next sample, or in a scan.
  while (!found_.empty()) {
    const std::int64_t pid = found_.back();
    found_.pop_back();
    if (ReadMember(pid, Add(pid), run)) {
      ++processes;
    } else {
      Remove(members_.find(pid));
    }
  }
  MetricBoard& board = run.board;
  const auto cpu = cpu_.Take(), read = read_.Take(), disk_read = disk_read_.Take();
  const auto disk_written = disk_written_.Take(), wait = wait_.Take(), faults = faults_.Take();
  if (processes > 0) {
    board.Count(cpu_id_, at, cpu);
    board.Count(faults_id_, at, faults);
    board.Set(resident_id_, resident_);
    board.Set(threads_id_, static_cast<double>(threads_));
    if (any_io_) {
      board.Count(read_id_, at, read);
      board.Count(disk_read_id_, at, disk_read);
      board.Count(disk_written_id_, at, disk_written);
    }
    if (any_wait_) board.Count(wait_id_, at, wait);
  }
  board.Set(processes_id_, static_cast<double>(processes));
  if (run.slow) ReadStatus(run);
}

bool ProcessTreeSource::ReadMember(std::int64_t pid, Member& member, SampleRun& run) {
  const std::optional<KernelFile::Text> read = member.stat.Read(run.buffer);
  if (!read) return !member.stat.failed();
  const std::optional<ProcessStat> stat = ParseProcessStat(read->text);
  if (!stat) return true;
  // Another process with the number of one that is gone.
  if (member.start_ticks && *member.start_ticks != stat->start_ticks) return false;
  const bool known = member.start_ticks.has_value();
  member.start_ticks = stat->start_ticks;
  const std::string name(stat->name);  // The next read takes its place.
  const TimeNs at = run.now;
  Counts now;
  now.user_and_system = stat->user_ticks + stat->system_ticks;
  now.major_faults = stat->major_faults;
  const double resident = static_cast<double>(stat->resident_pages) * page_bytes_;
  resident_ += resident;
  threads_ += stat->threads;
  if (const std::optional<KernelFile::Text> text = member.io.Read(run.buffer))
    now.io = ParseProcessIo(text->text);
  if (const std::optional<KernelFile::Text> text = member.schedstat.Read(run.buffer))
    now.wait_ns = ParseRunQueueWait(text->text);
  if (run.slow) FindChildren(member, run.buffer);

  const Counts& last = member.last;
  const auto before = [&](std::uint64_t value) {
    return known ? std::optional(value) : std::nullopt;
  };
  cpu_.Add(before(last.user_and_system), now.user_and_system);
  faults_.Add(before(last.major_faults), now.major_faults);
  if (now.io) {
    any_io_ = true;
    const auto io = [&](std::uint64_t ProcessIo::*part) {
      return last.io ? std::optional((*last.io).*part) : std::nullopt;
    };
    read_.Add(io(&ProcessIo::read), now.io->read);
    disk_read_.Add(io(&ProcessIo::disk_read), now.io->disk_read);
    disk_written_.Add(io(&ProcessIo::disk_written), now.io->disk_written);
  }
  if (now.wait_ns) {
    any_wait_ = true;
    wait_.Add(last.wait_ns, *now.wait_ns);
  }
  // One that is there for the second time gets metrics of its own.
  if (known && !member.metrics)
    member.metrics = TakeMetrics(fmt::format("{} {}", pid, name), run.board);
  if (member.metrics) {
    const OwnMetrics& own = *member.metrics;
    run.board.Count(own.cpu, at, now.user_and_system);
    run.board.Set(own.resident, resident);
    if (now.io) {
      run.board.Count(own.disk_read, at, now.io->disk_read);
      run.board.Count(own.disk_written, at, now.io->disk_written);
    }
    if (now.wait_ns) run.board.Count(own.wait, at, *now.wait_ns);
  }
  member.last = now;
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
