#include "capture/metrics/host/memory.h"

#include "capture/metrics/board/fields.h"

namespace headroom {

MemInfo ParseMemInfo(std::string_view text) {
  MemInfo info;
  const struct {
    std::string_view key;
    std::optional<std::uint64_t>& value;
  } rows[] = {{"MemTotal:", info.total},     {"MemAvailable:", info.available},
              {"Buffers:", info.buffers},    {"Cached:", info.cached},
              {"Shmem:", info.shared},       {"Dirty:", info.dirty},
              {"Writeback:", info.writeback}};
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    for (const auto& row : rows) {
      if (!line.starts_with(row.key)) continue;
      Fields fields(line.substr(row.key.size()));
      const std::optional<std::uint64_t> kibibytes = fields.NextNumber();
      if (kibibytes && fields.Next() == "kB") row.value = *kibibytes * 1024;
      break;
    }
  }
  return info;
}

MemorySource::MemorySource(const std::string& root, MetricBoard& board)
    : file_(root + "/proc/meminfo"),
      available_(board.AddGauge({"free_memory", "bytes"})),
      total_(board.AddGauge({"memory_total_bytes", "bytes"})),
      cached_(board.AddGauge({"memory_cached_bytes", "bytes"})),
      shared_(board.AddGauge({"memory_shared_bytes", "bytes"})),
      dirty_(board.AddGauge({"memory_dirty_bytes", "bytes"})) {}

void MemorySource::Read(SampleRun& run) {
  const std::optional<KernelFile::Text> read = file_.Read(run.buffer);
  if (!read) return;
  const MemInfo info = ParseMemInfo(read->text);
  const auto set = [&](MetricBoard::Id id, std::optional<std::uint64_t> bytes) {
    if (bytes) run.board.Set(id, static_cast<double>(*bytes));
  };
  set(available_, info.available);
  set(total_, info.total);
  set(shared_, info.shared);
  if (info.cached && info.buffers) set(cached_, *info.cached + *info.buffers);
  if (info.dirty && info.writeback) set(dirty_, *info.dirty + *info.writeback);
}

}  // namespace headroom
