// For tests: builds small traces from short calls, with times in microseconds.
//
//   StoreBuilder b;
//   b.Op("aten::mm", kMain, 0, 20).Sequence(3);
//   b.Call("cudaLaunchKernel", kMain, 5, 10, /*correlation=*/1);
//   b.Kernel("gemm", kStream, 15, 30, /*correlation=*/1);
//   const std::unique_ptr<TraceStore> store = b.Build();
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "store/trace_store.h"

namespace headroom {

/// Collects events in any order and builds a frozen store from them. Threads, streams, devices and
/// processes are created on first use. Times are microseconds unless stated otherwise.
class StoreBuilder {
 public:
  /// A host event that accepts more details.
  class HostEvent {
   public:
    HostEvent& Sequence(std::int64_t number) { return sequence_ = number, *this; }
    /// Sets the framework's number of the forward thread, as backward operators record it.
    HostEvent& ForwardThread(std::int32_t number) { return forward_thread_ = number, *this; }
    HostEvent& Correlation(std::int64_t number) { return correlation_ = number, *this; }
    /// Sets members of `args` as JSON text.
    HostEvent& Args(std::string_view members);
    /// Sets `Input Dims` and `Input type` of one operator: Shapes("[[8, 4], [4, 2]]", R"(["float",
    /// "float"])").
    HostEvent& Shapes(std::string_view dims, std::string_view types);

   private:
    friend class StoreBuilder;
    std::string name_, category_, args_;
    HostEventKind kind_ = HostEventKind::kOperator;
    std::string process_;
    std::int64_t thread_ = 0, start_ns_ = 0, duration_ns_ = 0;
    std::int64_t sequence_ = kUnknown, correlation_ = kUnknown;
    std::int32_t forward_thread_ = kUnknown32;
  };

  /// A GPU task that accepts more details.
  class GpuTask {
   public:
    GpuTask& Device(std::int64_t ordinal) { return device_ = ordinal, *this; }
    GpuTask& Bytes(std::int64_t bytes) { return bytes_ = bytes, *this; }
    /// Sets the arguments of a collective: `name` ("allreduce"), element type ("Float"), elements
    /// sent and received, and number of ranks in the group.
    GpuTask& Collective(std::string_view name, std::string_view dtype, std::int64_t sent,
                        std::int64_t received, std::int64_t ranks);
    /// Sets the number of blocks, and of threads per block.
    GpuTask& Grid(std::int32_t blocks, std::int32_t threads) {
      return blocks_ = blocks, threads_ = threads, *this;
    }

   private:
    friend class StoreBuilder;
    std::string name_;
    GpuTaskKind kind_ = GpuTaskKind::kKernel;
    CopyKind copy_ = CopyKind::kNotACopy;
    std::int64_t device_ = 0, stream_ = 0, start_ns_ = 0, duration_ns_ = 0;
    std::int64_t correlation_ = kUnknown, bytes_ = kUnknown;
    std::int32_t blocks_ = kUnknown32, threads_ = kUnknown32;
    std::string collective_, dtype_;
    std::int64_t sent_ = kUnknown, received_ = kUnknown, ranks_ = kUnknown;
  };

  /// Assigns later host events, counters and points to this process. The initial process is "1".
  StoreBuilder& InProcess(std::string_view pid);
  /// Interprets later times as nanoseconds.
  StoreBuilder& InNanoseconds() { return scale_ = 1, *this; }

  HostEvent& Op(std::string_view name, std::int64_t thread, std::int64_t start,
                std::int64_t duration);
  HostEvent& Annotation(std::string_view name, std::int64_t thread, std::int64_t start,
                        std::int64_t duration);
  /// Adds the annotation `ProfilerStep#N`.
  HostEvent& Step(std::int64_t number, std::int64_t thread, std::int64_t start,
                  std::int64_t duration);
  /// Adds a timed range: an annotation of category `region`.
  HostEvent& Region(std::string_view name, std::int64_t thread, std::int64_t start,
                    std::int64_t duration);
  /// Adds a range timed by GPU events, on a separate track.
  HostEvent& GpuRegion(std::string_view name, std::int64_t start, std::int64_t duration);
  HostEvent& Frame(std::string_view name, std::int64_t thread, std::int64_t start,
                   std::int64_t duration);
  HostEvent& Call(std::string_view name, std::int64_t thread, std::int64_t start,
                  std::int64_t duration, std::optional<std::int64_t> correlation = std::nullopt);
  HostEvent& DriverCall(std::string_view name, std::int64_t thread, std::int64_t start,
                        std::int64_t duration,
                        std::optional<std::int64_t> correlation = std::nullopt);
  HostEvent& Event(HostEventKind kind, std::string_view name, std::int64_t thread,
                   std::int64_t start, std::int64_t duration);

  GpuTask& Kernel(std::string_view name, std::int64_t stream, std::int64_t start,
                  std::int64_t duration, std::optional<std::int64_t> correlation = std::nullopt);
  GpuTask& Copy(CopyKind kind, std::int64_t stream, std::int64_t start, std::int64_t duration,
                std::optional<std::int64_t> correlation = std::nullopt);
  /// Adds a copy with a given name, e.g. "Memcpy DtoH (Device -> Pinned)".
  GpuTask& Copy(CopyKind kind, std::string_view name, std::int64_t stream, std::int64_t start,
                std::int64_t duration, std::optional<std::int64_t> correlation = std::nullopt);
  GpuTask& Set(std::int64_t stream, std::int64_t start, std::int64_t duration,
               std::optional<std::int64_t> correlation = std::nullopt);

  /// Adds a 2 us operator at `start` that launches a kernel with a 1 us call. Most tests need only
  /// this.
  GpuTask& Launch(std::string_view op, std::int64_t thread, std::int64_t start,
                  std::string_view kernel, std::int64_t stream, std::int64_t kernel_start,
                  std::int64_t kernel_duration);

  /// Adds a sample of a counter. `series` names the sampled object, e.g. "GPU 0".
  StoreBuilder& Counter(std::string_view name, std::string_view series, std::string_view unit,
                        std::int64_t time, double value);
  /// Adds a point in time; `args` are members as JSON text.
  StoreBuilder& Instant(std::string_view category, std::string_view name, std::int64_t time,
                        std::string_view args = {});
  /// Adds a sampled stack of a thread: frames separated by ';', outermost first.
  StoreBuilder& Stack(std::string_view stack, std::int64_t thread, std::int64_t time,
                      std::int64_t samples = 1);

  /// Adds an allocation on GPU 0, or a free if `bytes` is negative.
  /// @param total  bytes allocated after this event; kUnknown: not recorded
  /// @param reserved  bytes reserved after this event; kUnknown: not recorded
  StoreBuilder& Memory(std::int64_t thread, std::int64_t time, std::int64_t address,
                       std::int64_t bytes, std::int64_t total, std::int64_t reserved = kUnknown);

  /// Names a device ("NVIDIA H200").
  StoreBuilder& NameDevice(std::int64_t ordinal, std::string_view name);
  /// Sets the properties of a device, named or not (""). `capability` is major and minor.
  StoreBuilder& SizeDevice(std::int64_t ordinal, std::int32_t sms, std::int64_t memory_bytes,
                           std::pair<std::int32_t, std::int32_t> capability);

  /// Returns the frozen store, whose metadata counts the events. The builder can continue and build
  /// again.
  std::unique_ptr<TraceStore> Build() const;

 private:
  struct Sample {
    std::string process, name, series, unit;
    std::int64_t time_ns;
    double value;
  };
  struct Point {
    std::string process, category, name, args;
    std::int64_t thread, time_ns;
  };

  struct MemoryRecord {
    std::string process;
    std::int64_t thread, time_ns, address, bytes, total, reserved;
  };

  HostEvent& AddHost(HostEventKind kind, std::string_view category, std::string_view name,
                     std::int64_t thread, std::int64_t start, std::int64_t duration);
  GpuTask& AddTask(GpuTaskKind kind, std::string_view name, std::int64_t stream, std::int64_t start,
                   std::int64_t duration, std::optional<std::int64_t> correlation);

  // Callers hold references to rows, so rows must not move.
  std::deque<HostEvent> host_;
  std::deque<GpuTask> tasks_;
  std::deque<Sample> samples_;
  std::deque<Point> points_;
  std::deque<MemoryRecord> memory_;
  std::deque<std::pair<std::int64_t, std::string>> device_names_;
  struct DeviceSize {
    std::int64_t ordinal;
    std::int32_t sms;
    std::int64_t memory_bytes;
    std::pair<std::int32_t, std::int32_t> capability;
  };
  std::deque<DeviceSize> device_sizes_;
  std::string process_ = "1";
  std::int64_t scale_ = 1000;
  /// Used by Launch(); does not collide with ids that tests choose.
  std::int64_t next_correlation_ = 1'000'000;
};

}  // namespace headroom
