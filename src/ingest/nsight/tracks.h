// Maps the threads, devices and streams of an Nsight Systems export to rows of the store, which are
// added at their first use.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom::nsight {

/// The parts of a serialized id ("globalTid", "globalPid"). From the low end: 24 bits of the
/// thread, 24 of the process, then machine and hypervisor.
constexpr std::int64_t TidOf(std::int64_t global) { return global & 0xFFFFFF; }
constexpr std::int64_t PidOf(std::int64_t global) { return (global >> 24) & 0xFFFFFF; }

class Tracks {
 public:
  explicit Tracks(TraceStore& store) : store_(store) {}

  /// Returns a thread by its serialized id. All events with kUnknown share one thread.
  ThreadId ThreadOf(std::int64_t global_tid);
  /// Returns an additional track of a process with this name. It belongs to no thread.
  ThreadId TrackOf(std::int64_t global_pid, std::string_view name);
  /// Returns the device by its number in a process, which CUDA_VISIBLE_DEVICES may have changed.
  DeviceId DeviceOf(std::int64_t pid, std::int64_t ordinal);
  StreamId StreamOf(std::int64_t pid, std::int64_t device, std::int64_t context,
                    std::int64_t stream);

  /// Maps a process's device number to a GPU of the machine. Call it before the first DeviceOf().
  void MapDevice(std::int64_t pid, std::int64_t ordinal, std::int64_t gpu) {
    gpus_[{pid, ordinal}] = gpu;
  }
  /// Known properties of a GPU, for use if the GPU has work.
  struct Properties {
    StringId name;
    std::int64_t memory_bytes = kUnknown;
    std::int32_t sm_count = kUnknown32, compute_major = kUnknown32, compute_minor = kUnknown32;
  };
  Properties& PropertiesOf(std::int64_t gpu) { return properties_[gpu]; }

  /// Names a thread or process that has a row. Does nothing for others.
  void NameThread(std::int64_t global_tid, StringId name);
  void NameProcess(std::int64_t pid, StringId name);
  /// Sets the known properties of the store's devices. Call it last.
  void Settle();

 private:
  struct Stream {
    std::int64_t pid = 0, device = 0, context = 0, number = 0;
    auto operator<=>(const Stream&) const = default;
  };
  ProcessId ProcessOf(std::int64_t pid);
  ThreadId AddThread(std::int64_t pid, std::string_view tid);

  TraceStore& store_;
  // Ordered maps: a file chooses these numbers and could make them collide in a hash table.
  std::map<std::int64_t, ProcessId> processes_;
  std::map<std::int64_t, ThreadId> threads_;  ///< Key: serialized id.
  std::map<std::pair<std::int64_t, std::string_view>, ThreadId> tracks_;
  std::map<std::int64_t, DeviceId> devices_;  ///< Key: GPU of the machine.
  std::map<Stream, StreamId> streams_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpus_;
  std::map<std::int64_t, Properties> properties_;
  std::int64_t last_thread_key_ = 0;
  ThreadId last_thread_;
  Stream last_stream_key_;
  StreamId last_stream_;
};

}  // namespace headroom::nsight
