#include "capture/metrics/host/network.h"

#include <unistd.h>

#include <optional>

#include "capture/metrics/board/fields.h"

namespace headroom {

void ParseNetDev(std::string_view text, std::vector<InterfaceLine>& interfaces) {
  interfaces.clear();
  Lines lines(text);
  for (std::string_view line; lines.Next(line);) {
    // "  eth0: 123 ...". Old kernels omit the blank after the colon. The name of an alias contains
    // a colon.
    const std::size_t colon = line.rfind(':');
    if (colon == std::string_view::npos) continue;  // The two header lines.
    InterfaceLine found;
    found.name = Fields(line.substr(0, colon)).Next();
    Fields fields(line.substr(colon + 1));
    const auto received = fields.NextNumber();
    fields.Skip(7);  // Packets, errors, drops, FIFO, frames, compressed, multicast.
    const auto sent = fields.NextNumber();
    if (found.name.empty() || !received || !sent) continue;
    found.received = *received;
    found.sent = *sent;
    interfaces.push_back(found);
  }
}

NetworkSource::NetworkSource(const std::string& root, MetricBoard& board)
    : root_(root),
      file_(root + "/proc/net/dev"),
      sent_id_(board.AddRate(
          {.name = "net_throughput_sent", .unit = "bytes/s", .counter = "network_sent_bytes"})),
      received_id_(board.AddRate({.name = "net_throughput_recv",
                                  .unit = "bytes/s",
                                  .counter = "network_received_bytes"})) {}

void NetworkSource::Read(SampleRun& run) {
  const std::optional<KernelFile::Text> read = file_.Read(run.buffer);
  if (!read) return;
  ParseNetDev(read->text, lines_);
  for (auto& [name, interface] : interfaces_) interface.present = false;
  bool any_hardware = false;
  for (const InterfaceLine& line : lines_) {
    if (line.name == "lo") continue;
    auto found = interfaces_.find(line.name);
    if (found == interfaces_.end()) {
      found = interfaces_.emplace(std::string(line.name), Interface()).first;
      found->second.hardware =
          access((root_ + "/sys/class/net/" + found->first + "/device").c_str(), F_OK) == 0;
    }
    found->second.present = true;
    any_hardware |= found->second.hardware;
  }
  bool any = false;
  for (const InterfaceLine& line : lines_) {
    const auto found = interfaces_.find(line.name);
    if (found == interfaces_.end()) continue;  // Loopback.
    Interface& interface = found->second;
    if (interface.hardware || !any_hardware) {
      any = true;
      const auto last = [&](std::uint64_t count) {
        return interface.known ? std::optional(count) : std::nullopt;
      };
      received_.Add(last(interface.received), line.received);
      sent_.Add(last(interface.sent), line.sent);
    }
    interface.received = line.received;
    interface.sent = line.sent;
    interface.known = true;
    if (!interface.sent_id && line.received + line.sent > 0) {
      const auto add = [&](const char* name, const char* counter) {
        return run.board.AddRate({.name = name,
                                  .unit = "bytes/s",
                                  .scope = MetricScope::kDevice,
                                  .instance = found->first,
                                  .counter = counter});
      };
      interface.sent_id = add("net_interface_sent_bytes_per_s", "network_interface_sent_bytes");
      interface.received_id =
          add("net_interface_recv_bytes_per_s", "network_interface_received_bytes");
    }
    if (interface.sent_id) {
      run.board.Count(*interface.sent_id, read->at, line.sent);
      run.board.Count(*interface.received_id, read->at, line.received);
    }
  }
  for (auto& [name, interface] : interfaces_) interface.known &= interface.present;
  if (!any) return;
  run.board.Count(received_id_, read->at, received_.Take());
  run.board.Count(sent_id_, read->at, sent_.Take());
}

}  // namespace headroom
