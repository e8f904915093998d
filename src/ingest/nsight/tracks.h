// Threads, devices and streams of an export of Nsight Systems as rows of the store, added as they
// are first used.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/ids.h"
#include "store/trace_store.h"

namespace headroom::nsight {

/// What a serialized id ("globalTid", "globalPid") says: from the low end 24 bits of the thread and
/// 24 of the process; machine and hypervisor above.
constexpr std::int64_t TidOf(std::int64_t global) { return global & 0xFFFFFF; }
constexpr std::int64_t PidOf(std::int64_t global) { return (global >> 24) & 0xFFFFFF; }

class Tracks {
 public:
  explicit Tracks(TraceStore& store) : store_(store) {}

  /// A thread by its serialized id; kUnknown is one for all that do not say.
  ThreadId ThreadOf(std::int64_t global_tid);
  /// A track of a process beside its threads.
  ThreadId TrackOf(std::int64_t global_pid, std::string_view name);
  /// The device by its number as a process counts, which CUDA_VISIBLE_DEVICES may have changed.
  DeviceId DeviceOf(std::int64_t pid, std::int64_t ordinal);
  StreamId StreamOf(std::int64_t pid, std::int64_t device, std::int64_t context,
                    std::int64_t stream);

  /// A process counts this GPU of the machine as its device. Before the first DeviceOf().
  void MapDevice(std::int64_t pid, std::int64_t ordinal, std::int64_t gpu) {
    gpus_[{pid, ordinal}] = gpu;
  }
  /// What is known of a GPU, for when it turns out to have work.
  struct Properties {
    StringId name;
    std::int64_t memory_bytes = kUnknown;
    std::int32_t sm_count = kUnknown32, compute_major = kUnknown32, compute_minor = kUnknown32;
  };
  Properties& PropertiesOf(std::int64_t gpu) { return properties_[gpu]; }

  /// Names rows that are there; others are nobody's.
  void NameThread(std::int64_t global_tid, StringId name);
  void NameProcess(std::int64_t pid, StringId name);
  /// Gives the devices of the store what is known of them. Last.
  void Settle();

 private:
  struct Stream {
    std::int64_t pid = 0, device = 0, context = 0, number = 0;
    auto operator<=>(const Stream&) const = default;
  };
  ProcessId ProcessOf(std::int64_t pid);
  ThreadId AddThread(std::int64_t pid, std::string_view tid);

  TraceStore& store_;
  // Ordered: a file chooses these numbers, and could choose them to collide in a hash table.
  std::map<std::int64_t, ProcessId> processes_;
  std::map<std::int64_t, ThreadId> threads_;  ///< By serialized id.
  std::map<std::pair<std::int64_t, std::string_view>, ThreadId> tracks_;
  std::map<std::int64_t, DeviceId> devices_;  ///< By GPU of the machine.
  std::map<Stream, StreamId> streams_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> gpus_;
  std::map<std::int64_t, Properties> properties_;
  std::int64_t last_thread_key_ = 0;
  ThreadId last_thread_;
  Stream last_stream_key_;
  StreamId last_stream_;
};

}  // namespace headroom::nsight
