#include "capture/metrics/host/infiniband.h"

#include <fmt/format.h>

#include "capture/metrics/board/fields.h"
#include "capture/metrics/board/folder.h"

namespace headroom {
namespace {

/// port_rcv_data and port_xmit_data count words (Documentation/ABI/stable/sysfs-class-infiniband).
constexpr double kWordBytes = 4;

}  // namespace

InfinibandSource::InfinibandSource(const std::string& root, MetricBoard& board) {
  const std::string devices = root + "/sys/class/infiniband";
  for (const std::string& device : FolderEntries(devices)) {
    const std::string ports = fmt::format("{}/{}/ports", devices, device);
    for (const std::string& port : FolderEntries(ports)) {
      const auto add = [&](const char* file, const char* name, const char* counter) {
        const MetricBoard::Id id =
            board.AddRate({.name = name,
                           .unit = "bytes/s",
                           .scope = MetricScope::kDevice,
                           .instance = fmt::format("{}:{}", device, port),
                           .counter = counter},
                          {.rate_scale = kWordBytes, .total_scale = kWordBytes});
        counters_.push_back({KernelFile(fmt::format("{}/{}/counters/{}", ports, port, file)), id});
      };
      add("port_xmit_data", "rdma_sent_bytes_per_s", "rdma_sent_bytes");
      add("port_rcv_data", "rdma_recv_bytes_per_s", "rdma_received_bytes");
    }
  }
}

void InfinibandSource::Read(SampleRun& run) {
  for (Counter& counter : counters_) {
    const std::optional<KernelFile::Text> read = counter.file.Read(run.buffer);
    if (!read) continue;
    Fields fields(read->text);
    run.board.Count(counter.id, read->at, fields.NextNumber());
  }
}

}  // namespace headroom
