#include "serve/timeline/track_names.h"

#include <fmt/format.h>

#include <string_view>

#include "base/ascii.h"

namespace headroom {
namespace {

std::string WithName(std::string text, std::string_view name) {
  return name.empty() ? text : fmt::format("{} {}", text, name);
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string StreamTitle(const TraceStore& store, StreamId stream) {
  const std::int64_t number = store.streams.number[stream.index()];
  return number < 0 ? "GPU work" : fmt::format("stream {}", number);
}

std::string DeviceTitle(const TraceStore& store, StreamId stream) {
  const std::size_t device = store.streams.device[stream.index()].index();
  const std::int64_t ordinal = store.devices.ordinal[device];
  return WithName(ordinal < 0 ? "GPU" : fmt::format("GPU {}", ordinal),
                  store.Text(store.devices.name[device]));
}

std::string ThreadTitle(const TraceStore& store, ThreadId thread) {
  const std::string_view number = store.Text(store.threads.tid[thread.index()]);
  const std::string_view name = Trimmed(store.Text(store.threads.name[thread.index()]));
  // The name already contains the number: "thread 4711 (python3)".
  if (!number.empty() && name.find(number) != std::string_view::npos) return std::string(name);
  return WithName(fmt::format("thread {}", number), name);
}

std::string ProcessTitle(const TraceStore& store, ThreadId thread) {
  const std::size_t process = store.threads.process[thread.index()].index();
  return WithName(fmt::format("process {}", store.Text(store.processes.pid[process])),
                  store.Text(store.processes.name[process]));
}

}  // namespace headroom
