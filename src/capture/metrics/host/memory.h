// Reads the host's memory from /proc/meminfo.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "capture/metrics/board/metric_source.h"

namespace headroom {

/// Values in bytes; nullopt if the kernel does not report one. (The file says kB and means KiB.)
struct MemInfo {
  std::optional<std::uint64_t> total, available, buffers, cached, shared, dirty, writeback;
};

MemInfo ParseMemInfo(std::string_view text);

class MemorySource : public MetricSource {
 public:
  MemorySource(const std::string& root, MetricBoard& board);
  void Read(SampleRun& run) override;

 private:
  KernelFile file_;
  MetricBoard::Id available_, total_, cached_, shared_, dirty_;
};

}  // namespace headroom
