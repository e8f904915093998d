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

/// Work of a GPU, in ticks of the process's collector.
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

/// Time that the program lost to the recording, or to the driver because of it.
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
  std::uint32_t tid = 0;  ///< Thread of the begin.
  bool open = false;      ///< Its end was not recorded.
};

/// Name that the program gives to a thread, a context or a stream.
struct Naming {
  Object object = Object::kUnknown;
  std::string_view name = {};
  std::uint32_t id = 0, context = 0, device = 0;
};

/// Id under which the program made a call.
struct ExternalId {
  std::uint64_t id = 0;
  std::uint32_t correlation = 0;
  std::uint32_t kind = 0;
};

/// Message of the recording about itself (message::).
struct Message {
  std::uint64_t ticks = 0;
  std::string_view what = {};
  std::int64_t value = 0;
  std::string_view text = {};
  Severity severity = Severity::kInfo;
};

/// Receives the events of a decoder. Texts are valid until the call returns.
///
/// Events come as they were written, not by time. Calls of one thread nest or follow each other;
/// they never cross. A nested call may come before its outer call, or much later. A writer of
/// begins and ends must first sort by (start, -end).
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

/// Returns the readable name of a kernel. The C++ library does not demangle names above 1,024
/// letters. For those, only the function's own name is demangled: "cutlass::device_kernel<IL...>".
std::string Demangle(std::string_view name);

/// Returns the direction of a memcpy, from GpuTaskPayload.copy.
std::string_view CopyText(std::uint8_t copy);

/// Reads one ring, in pieces of any size. Another process writes the ring, so its contents can be
/// arbitrary. Counts and skips invalid events.
class Decoder {
 public:
  /// Returns the text of a name; empty if there is none. The text must stay valid as long as the
  /// decoder.
  using NameOf = std::function<std::string_view(std::uint32_t)>;

  explicit Decoder(NameOf name_of) : name_of_(std::move(name_of)) {}

  /// Reads the records that follow those of the last call. Keeps an incomplete event at their end
  /// until the rest arrives.
  void Decode(std::span<const headroom_record> records, Sink& sink);

  /// Reports the ranges that are still open. Call it at the end of the recording.
  void Finish(Sink& sink);

  std::int64_t events() const { return events_; }
  /// Events of a later version, or damaged ones.
  std::int64_t unknown() const { return unknown_; }

 private:
  struct HalfRange {
    std::uint64_t ticks = 0;
    std::uint32_t name = 0, domain = 0, tid = 0;
    bool ended = false;  ///< Set for an end: buffers of two threads may come out of order.
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
  std::unordered_map<std::uint32_t, HalfRange>
      half_ranges_;  ///< Ranges with one known end, by marker id.
  std::int64_t events_ = 0, unknown_ = 0;
};

}  // namespace headroom::activity
