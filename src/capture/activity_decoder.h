// Reads the events of a ring of GPU activity (capture/activity.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "capture/activity.h"

namespace headroom::activity {

/// A task of a GPU. Times are ticks of the process's collector.
struct GpuTask {
  std::uint64_t start = 0, end = 0;
  Work work = Work::kKernel;
  std::string_view name = {};  ///< Kernel names are demangled.
  std::uint32_t device = 0, stream = 0, context = 0;
  std::uint32_t correlation = 0;
  std::uint64_t graph_node = 0;  ///< Node of a CUDA graph; 0: none.
  std::uint64_t bytes = 0;       ///< Size of a memcpy or memset.
  std::string_view copy = {};    ///< Direction of a memcpy: HtoD, DtoH, DtoD, PtoP...
  KernelPayload kernel = {};     ///< Launch shape of a kernel.
};

/// A call into the CUDA runtime or driver.
struct ApiCall {
  std::uint64_t start = 0, end = 0;
  std::string_view name = {};
  std::uint32_t tid = 0;
  std::uint32_t correlation = 0;
  bool driver = false;
};

/// Time that CUPTI reports as overhead: its own, or the driver's, such as lazy loading.
struct Overhead {
  std::uint64_t start = 0, end = 0;
  std::string_view name = {};
  std::uint32_t tid = 0;  ///< 0: no thread.
};

/// Wait of the host for the GPU, or of a stream for an event.
struct Sync {
  std::uint64_t start = 0, end = 0;
  std::string_view name = {};
  std::uint32_t correlation = 0, context = 0;
  std::uint32_t stream = SyncPayload::kNone, event = SyncPayload::kNone;
};

/// NVTX range, or NVTX mark if `start` = `end`.
struct Range {
  std::uint64_t start = 0, end = 0;
  std::string_view name = {}, domain = {};
  std::uint32_t tid = 0;  ///< Thread that began the range; 0: no thread.
  bool open = false;      ///< Its end was not recorded.
};

/// Name that the program gives to a thread, a context or a stream.
struct Naming {
  Object object = Object::kUnknown;
  std::string_view name = {};
  std::uint32_t id = 0, context = 0, device = 0;
};

/// External id that the program, or a library in it, pushed before a call.
struct ExternalId {
  std::uint64_t id = 0;
  std::uint32_t correlation = 0;
  std::uint32_t kind = 0;
};

/// Diagnostic message about the recording (message::).
struct Message {
  std::uint64_t ticks = 0;
  std::string_view what = {};
  std::int64_t value = 0;
  std::string_view text = {};
  Severity severity = Severity::kInfo;
};

/// Receives the events of a decoder. Strings are valid until the call returns.
///
/// Events come in the order in which they were written, not by time. Calls of one thread nest or
/// follow each other, but never overlap partially. A nested call may come before its outer call, or
/// much later. A sink that writes begins and ends must first sort the calls by (start, -end).
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void OnGpuTask(const GpuTask& task) = 0;
  virtual void OnApiCall(const ApiCall& call) = 0;
  virtual void OnOverhead(const Overhead& overhead) = 0;
  virtual void OnSync(const Sync& sync) = 0;
  virtual void OnRange(const Range& range) = 0;
  virtual void OnNaming(const Naming& naming) = 0;
  virtual void OnExternalId(const ExternalId& id) = 0;
  virtual void OnMessage(const Message& message) = 0;
};

/// Returns the readable name of a kernel. The C++ library does not demangle names of more than
/// 1,024 characters. For those, demangles only the function's own name:
/// "cutlass::device_kernel<IL...>".
std::string Demangle(std::string_view name);

/// Returns the direction of a memcpy, such as HtoD; empty if unknown.
///
/// @param copy  GpuTaskPayload::copy
std::string_view CopyText(std::uint8_t copy);

/// Reads one ring, in pieces of any size. Another process writes the ring, so its contents can be
/// arbitrary. Counts and skips invalid events.
class Decoder {
 public:
  /// Returns the name with this id; empty if the id is unknown. Its characters must outlive the
  /// decoder.
  using NameOf = std::function<std::string_view(std::uint32_t)>;

  explicit Decoder(NameOf name_of) : name_of_(std::move(name_of)) {}

  /// Reads the records that follow those of the last call. Keeps an incomplete event at their end
  /// until the rest arrives.
  void Decode(std::span<const headroom_record> records, Sink& sink);

  /// Reports the ranges that are still open. Call it at the end of the recording.
  void Finish(Sink& sink);

  std::int64_t events() const { return events_; }
  /// Number of skipped events: damaged ones, or those of a later version.
  std::int64_t unknown() const { return unknown_; }

 private:
  struct HalfRange {
    std::uint64_t ticks = 0;
    std::uint32_t name = 0, domain = 0, tid = 0;
    bool ended = false;  ///< Only the end has come: buffers of two threads may come out of order.
  };

  void DecodeEvent(std::span<const headroom_record> event, Sink& sink);
  void DecodeGpuTask(std::span<const headroom_record> event, Sink& sink);
  void DecodeMarker(const headroom_record& head, const MarkerPayload& payload, Sink& sink);
  Range RangeOf(const HalfRange& half);
  std::string_view Name(std::uint32_t name);
  std::string_view KernelName(std::uint32_t name);

  NameOf name_of_;
  std::vector<headroom_record> cut_;  ///< First records of an event whose rest is missing.
  std::unordered_map<std::uint32_t, std::string> kernels_;
  /// Ranges of which only the start or the end has come, by marker id.
  std::unordered_map<std::uint32_t, HalfRange> half_ranges_;
  std::int64_t events_ = 0, unknown_ = 0;
};

}  // namespace headroom::activity
