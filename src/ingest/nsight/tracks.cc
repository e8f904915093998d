#include "ingest/nsight/tracks.h"

#include <string>

namespace headroom::nsight {

ProcessId Tracks::ProcessOf(std::int64_t pid) {
  const auto [it, is_new] = processes_.try_emplace(pid, ProcessId(store_.processes.rows()));
  if (is_new) {
    store_.processes.pid.MutablePending(AppendUnknown(store_.processes)) =
        store_.strings.Intern(std::to_string(pid));
  }
  return it->second;
}

ThreadId Tracks::AddThread(std::int64_t pid, std::string_view tid) {
  const ProcessId process = ProcessOf(pid);
  const std::size_t row = AppendUnknown(store_.threads);
  store_.threads.process.MutablePending(row) = process;
  store_.threads.tid.MutablePending(row) = store_.strings.Intern(tid);
  return ThreadId(row);
}

ThreadId Tracks::ThreadOf(std::int64_t global_tid) {
  if (last_thread_.valid() && last_thread_key_ == global_tid) return last_thread_;
  const auto it = threads_.find(global_tid);
  if (it != threads_.end()) {
    last_thread_ = it->second;
  } else {
    const bool known = global_tid != kUnknown;
    last_thread_ = known ? AddThread(PidOf(global_tid), std::to_string(TidOf(global_tid)))
                         : AddThread(0, "unknown");
    threads_.emplace(global_tid, last_thread_);
  }
  last_thread_key_ = global_tid;
  return last_thread_;
}

ThreadId Tracks::TrackOf(std::int64_t global_pid, std::string_view name) {
  const std::int64_t pid = global_pid == kUnknown ? 0 : PidOf(global_pid);
  const auto it = tracks_.find({pid, name});
  if (it != tracks_.end()) return it->second;
  const ThreadId thread = AddThread(pid, name);
  tracks_.emplace(std::pair(pid, store_.Text(store_.threads.tid.Pending(thread.index()))), thread);
  return thread;
}

DeviceId Tracks::DeviceOf(std::int64_t pid, std::int64_t ordinal) {
  const auto mapped = gpus_.find({pid, ordinal});
  const std::int64_t gpu = mapped == gpus_.end() ? ordinal : mapped->second;
  const auto [it, is_new] = devices_.try_emplace(gpu, DeviceId(store_.devices.rows()));
  if (is_new) store_.devices.ordinal.MutablePending(AppendUnknown(store_.devices)) = gpu;
  return it->second;
}

StreamId Tracks::StreamOf(std::int64_t pid, std::int64_t device, std::int64_t context,
                          std::int64_t stream) {
  const Stream key = {pid, device, context, stream};
  if (last_stream_.valid() && key == last_stream_key_) return last_stream_;
  const auto [it, is_new] = streams_.try_emplace(key, StreamId(store_.streams.rows()));
  if (is_new) {
    const DeviceId of = DeviceOf(pid, device);
    const std::size_t row = AppendUnknown(store_.streams);
    store_.streams.device.MutablePending(row) = of;
    store_.streams.number.MutablePending(row) = stream;
  }
  last_stream_key_ = key;
  return last_stream_ = it->second;
}

void Tracks::NameThread(std::int64_t global_tid, StringId name) {
  const auto it = threads_.find(global_tid);
  if (it != threads_.end()) store_.threads.name.MutablePending(it->second.index()) = name;
}

void Tracks::NameProcess(std::int64_t pid, StringId name) {
  const auto it = processes_.find(pid);
  if (it != processes_.end()) store_.processes.name.MutablePending(it->second.index()) = name;
}

void Tracks::Settle() {
  for (const auto& [gpu, device] : devices_) {
    const auto known = properties_.find(gpu);
    if (known == properties_.end()) continue;
    const Properties& properties = known->second;
    store_.devices.name.MutablePending(device.index()) = properties.name;
    store_.devices.memory_bytes.MutablePending(device.index()) = properties.memory_bytes;
    store_.devices.sm_count.MutablePending(device.index()) = properties.sm_count;
    store_.devices.compute_major.MutablePending(device.index()) = properties.compute_major;
    store_.devices.compute_minor.MutablePending(device.index()) = properties.compute_minor;
  }
}

}  // namespace headroom::nsight
