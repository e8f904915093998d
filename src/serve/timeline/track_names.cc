#include "serve/timeline/track_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "store/trace_formats.h"

namespace headroom {
namespace {

std::string WithName(std::string text, std::string_view name) {
  return name.empty() ? text : fmt::format("{} {}", text, name);
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool IsOfKineto(const TraceStore& store) { return store.metadata.recorded_as() == kKinetoFormat; }

/// PyTorch's profiler copies annotations of the host to threads named "stream 7", in a process with
/// the number of the GPU.
bool HoldsAnnotationsOfStream(const TraceStore& store, std::string_view thread_name) {
  constexpr std::string_view kStream = "stream ";
  if (!IsOfKineto(store) || !thread_name.starts_with(kStream)) return false;
  const std::string_view number = thread_name.substr(kStream.size());
  return !number.empty() && std::ranges::all_of(number, IsDigit);
}

/// PyTorch's profiler writes the cost of its buffers under this number.
constexpr std::string_view kProfilerProcess = "-1";

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
  if (HoldsAnnotationsOfStream(store, name)) return fmt::format("annotations of {}", name);
  // The name already contains the number: "thread 4711 (python3)".
  if (!number.empty() && name.find(number) != std::string_view::npos) return std::string(name);
  return WithName(fmt::format("thread {}", number), name);
}

std::string ProcessTitle(const TraceStore& store, ThreadId thread) {
  const std::size_t process = store.threads.process[thread.index()].index();
  const std::string_view number = store.Text(store.processes.pid[process]);
  if (IsOfKineto(store) && number == kProfilerProcess) return "the profiler's cost";
  if (HoldsAnnotationsOfStream(store, Trimmed(store.Text(store.threads.name[thread.index()]))))
    return fmt::format("GPU {}", number);
  return WithName(fmt::format("process {}", number), store.Text(store.processes.name[process]));
}

}  // namespace headroom
