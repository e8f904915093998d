#include "capture/metrics/host/cgroup_source.h"

#include <algorithm>
#include <utility>

#include "capture/metrics/board/fields.h"

namespace headroom {
namespace {

constexpr double kNanosecond = 1e-9;

Metric CgroupMetric(std::string name, std::string unit, std::string counter = {}) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .scope = MetricScope::kCgroup,
          .counter = std::move(counter)};
}

/// Returns the increase of a counter; nullopt if unknown.
std::optional<std::uint64_t> Grown(std::optional<std::uint64_t> last,
                                   std::optional<std::uint64_t> now) {
  return last && now && *now >= *last ? std::optional(*now - *last) : std::nullopt;
}

}  // namespace

CgroupSource::CgroupSource(const Cgroups& groups, MetricBoard& board) {
  for (const std::string& folder : groups.cpu.folders) {
    CpuLevel level{.stat = KernelFile(folder + "/cpu.stat"),
                   .max = std::nullopt,
                   .quota = std::nullopt,
                   .period = std::nullopt,
                   .limit = std::nullopt,
                   .last = {}};
    if (groups.cpu.v2) {
      level.max.emplace(folder + "/cpu.max");
    } else {
      level.quota.emplace(folder + "/cpu.cfs_quota_us");
      level.period.emplace(folder + "/cpu.cfs_period_us");
    }
    cpu_.push_back(std::move(level));
  }
  if (!groups.cpu_usage.v2 && !groups.cpu_usage.folders.empty())
    usage_.emplace(groups.cpu_usage.folders.front() + "/cpuacct.usage");
  if (!cpu_.empty()) {
    cores_id_ = board.AddRate(CgroupMetric("cgroup_cpu_cores", "cores", "cgroup_cpu_seconds"),
                              {.rate_scale = kNanosecond, .total_scale = kNanosecond});
    limit_id_ = board.AddGauge(CgroupMetric("cgroup_cpu_limit_cores", "cores"));
    periods_id_ = board.AddShare(CgroupMetric("cgroup_cpu_throttled_periods_pct", "%"));
    throttled_id_ = board.AddRate(
        CgroupMetric("cgroup_cpu_throttled_cores", "cores", "cgroup_cpu_throttled_seconds"),
        {.rate_scale = kNanosecond, .total_scale = kNanosecond});
  }
  const bool v2 = groups.memory.v2;
  for (const std::string& folder : groups.memory.folders) {
    memory_.push_back({KernelFile(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes")),
                       KernelFile(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes")),
                       std::nullopt});
  }
  if (!memory_.empty()) {
    memory_id_ = board.AddGauge(CgroupMetric("cgroup_memory_bytes", "bytes"));
    memory_limit_id_ = board.AddGauge(CgroupMetric("cgroup_memory_limit_bytes", "bytes"));
    memory_free_id_ = board.AddGauge(CgroupMetric("cgroup_memory_free_bytes", "bytes"));
    kills_id_ = board.AddTotal(CgroupMetric("cgroup_oom_kills", "1"));
    memory_events_.emplace(groups.memory.folders.front() +
                           (v2 ? "/memory.events" : "/memory.oom_control"));
  }
  if (!groups.io.folders.empty()) {
    io_v2_ = groups.io.v2;
    io_.emplace(groups.io.folders.front() +
                (io_v2_ ? "/io.stat" : "/blkio.throttle.io_service_bytes"));
    read_id_ = board.AddRate(
        CgroupMetric("cgroup_disk_read_bytes_per_s", "bytes/s", "cgroup_disk_read_bytes"));
    written_id_ = board.AddRate(
        CgroupMetric("cgroup_disk_written_bytes_per_s", "bytes/s", "cgroup_disk_written_bytes"));
  }
  if (groups.cpu.v2 && !groups.cpu.folders.empty())
    pressure_.emplace(PressureSource::OfCgroup(groups.cpu.folders.front(), board));
}

void CgroupSource::Read(SampleRun& run) {
  ReadCpu(run);
  ReadMemory(run);
  ReadIo(run);
  if (pressure_) pressure_->Read(run);
}

std::optional<double> CgroupSource::Limit(CpuLevel& level, ReadBuffer& buffer) {
  if (level.max) {
    const std::optional<KernelFile::Text> max = level.max->Read(buffer);
    return max ? ParseCpuMax(max->text) : std::nullopt;
  }
  const std::optional<KernelFile::Text> quota = level.quota->Read(buffer);
  if (!quota) return std::nullopt;
  const std::string text(quota->text);  // Copied: the next read overwrites the buffer.
  const std::optional<KernelFile::Text> period = level.period->Read(buffer);
  return period ? CpuQuota(text, period->text) : std::nullopt;
}

void CgroupSource::ReadCpu(SampleRun& run) {
  std::optional<double> limit;
  std::optional<double> periods_percent;
  std::optional<std::uint64_t> most_throttled;
  bool counts_throttling = false;
  TimeNs at;
  for (std::size_t i = 0; i < cpu_.size(); ++i) {
    CpuLevel& level = cpu_[i];
    if (run.slow) level.limit = Limit(level, run.buffer);
    if (level.limit) limit = std::min(limit.value_or(*level.limit), *level.limit);
    const std::optional<KernelFile::Text> read = level.stat.Read(run.buffer);
    if (!read) continue;
    at = read->at;
    const CgroupCpuStat now = ParseCgroupCpuStat(read->text);
    if (i == 0 && now.usage) run.board.Count(cores_id_, at, now.usage);
    counts_throttling |= now.throttled_time.has_value();
    const auto periods = Grown(level.last.periods, now.periods);
    const auto throttled = Grown(level.last.throttled, now.throttled);
    if (periods && throttled && *periods > 0) {
      const double percent = 100 * static_cast<double>(*throttled) / static_cast<double>(*periods);
      periods_percent = std::max(periods_percent.value_or(0), std::min(percent, 100.0));
    }
    if (const auto grown = Grown(level.last.throttled_time, now.throttled_time))
      most_throttled = std::max(most_throttled.value_or(0), *grown);
    level.last = now;
  }
  if (usage_) {
    if (const std::optional<KernelFile::Text> read = usage_->Read(run.buffer))
      run.board.Count(cores_id_, read->at, Fields(read->text).NextNumber());
  }
  if (limit) run.board.Set(limit_id_, *limit);
  if (periods_percent) run.board.Set(periods_id_, *periods_percent);
  if (counts_throttling) {
    throttled_ns_ += most_throttled.value_or(0);
    run.board.Count(throttled_id_, at, throttled_ns_);
  }
}

void CgroupSource::ReadMemory(SampleRun& run) {
  std::optional<std::uint64_t> limit, free;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const auto number = [&](KernelFile& file, auto parse) -> std::optional<std::uint64_t> {
      const std::optional<KernelFile::Text> read = file.Read(run.buffer);
      return read ? parse(read->text) : std::nullopt;
    };
    MemoryLevel& level = memory_[i];
    if (run.slow) level.limit = number(level.limit_file, ParseMemoryLimit);
    const std::optional<std::uint64_t> own = level.limit;
    if (i > 0 && !own) continue;
    const auto usage =
        number(level.usage, [](std::string_view text) { return Fields(text).NextNumber(); });
    if (i == 0 && usage) run.board.Set(memory_id_, static_cast<double>(*usage));
    if (!own) continue;
    limit = std::min(limit.value_or(*own), *own);
    if (usage) {
      const std::uint64_t left = *own - std::min(*own, *usage);
      free = std::min(free.value_or(left), left);
    }
  }
  if (limit) run.board.Set(memory_limit_id_, static_cast<double>(*limit));
  if (free) run.board.Set(memory_free_id_, static_cast<double>(*free));
  if (memory_events_ && run.slow) {
    if (const std::optional<KernelFile::Text> read = memory_events_->Read(run.buffer))
      run.board.Count(kills_id_, read->at, ParseKeyed(read->text, "oom_kill"));
  }
}

void CgroupSource::ReadIo(SampleRun& run) {
  // Reads rarely, because a read makes the kernel sum the counters of all cores, group by group.
  if (!io_ || !run.slow) return;
  const std::optional<KernelFile::Text> read = io_->Read(run.buffer);
  if (!read) return;
  const CgroupIo io = io_v2_ ? ParseIoStat(read->text) : ParseBlkioBytes(read->text);
  run.board.Count(read_id_, read->at, io.read);
  run.board.Count(written_id_, read->at, io.written);
}

}  // namespace headroom
