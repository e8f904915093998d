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

/// Work of a GPU. Ticks are those of the process's collector.
struct GpuTask {
  std::uint64_t start = 0, end = 0;
  Work work = Work::kKernel;
  std::string_view name = {};  ///< Of a kernel: demangled.
  std::uint32_t device = 0, stream = 0, context = 0;
  std::uint32_t correlation = 0;
  std::uint64_t graph_node = 0;  ///< 0: none.
  std::uint64_t bytes = 0;       ///< Of memcpy and memset.
  std::string_view copy = {};    ///< Of a memcpy: HtoD, DtoH, DtoD, PtoP...
  KernelPayload kernel = {};     ///< Of a kernel.
};

/// A call into the CUDA runtime or driver.
struct ApiCall {
  std::uint64_t start = 0, end = 0;
  std::string_view name = {};
  std::uint32_t tid = 0;
  std::uint32_t correlation = 0;
  bool driver = false;
};

/// Time that the recording itself, or the driver for its sake, took from the program.
struct Overhead {
  std::uint64_t start = 0, end = 0;
  std::string_view name = {};
  std::uint32_t tid = 0;  ///< 0: of no thread.
};

/// A wait of the host for the GPU, or of a stream for an event.
struct Sync {
  std::uint64_t start = 0, end = 0;
  std::string_view name = {};
  std::uint32_t correlation = 0, context = 0;
  std::uint32_t stream = SyncPayload::kNone, event = SyncPayload::kNone;
};

/// An NVTX range or, with `start` = `end`, mark.
struct Range {
  std::uint64_t start = 0, end = 0;
  std::string_view name = {}, domain = {};
  std::uint32_t tid = 0;  ///< Of the begin.
  bool open = false;      ///< Its end was not recorded.
};

/// What the program calls a thread, a context or a stream.
struct Naming {
  Object object = Object::kUnknown;
  std::string_view name = {};
  std::uint32_t id = 0, context = 0, device = 0;
};

/// An id under which the program made a call.
struct ExternalId {
  std::uint64_t id = 0;
  std::uint32_t correlation = 0;
  std::uint32_t kind = 0;
};

/// The recording's report on itself (message::).
struct Message {
  std::uint64_t ticks = 0;
  std::string_view what = {};
  std::int64_t value = 0;
  std::string_view text = {};
  Severity severity = Severity::kInfo;
};

/// Takes what a decoder reads. Texts are good until the call returns.
///
/// Events come as they were written, which is not by time. Calls of one thread nest or follow each
/// other and never cross; one that is inside another may come before it, or much later: a writer of
/// begins and ends sorts by (start, -end) first.
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

/// A kernel's name as people write it. Beyond 1,024 letters, where the C++ library gives up, what
/// the function is called in front, and its arguments as they are: "cutlass::device_kernel<IL...>".
std::string Demangle(std::string_view name);

/// From where to where a memcpy goes, of GpuTaskPayload.copy.
std::string_view CopyText(std::uint8_t copy);

/// Reads one ring, in pieces of any size. What is written there is another process's and may be
/// anything: what makes no sense is counted and skipped.
class Decoder {
 public:
  /// The text of a name; empty: there is none. What it returns must stay as long as the decoder.
  using NameOf = std::function<std::string_view(std::uint32_t)>;

  explicit Decoder(NameOf name_of) : name_of_(std::move(name_of)) {}

  /// Takes the records that follow those of the last call. An event that is cut at their end is
  /// kept until the rest comes.
  void Decode(std::span<const headroom_record> records, Sink& sink);

  /// Tells of ranges that are still open. For the end of the recording.
  void Finish(Sink& sink);

  std::int64_t events() const { return events_; }
  /// Events of a later version, or damage.
  std::int64_t unknown() const { return unknown_; }

 private:
  struct HalfRange {
    std::uint64_t ticks = 0;
    std::uint32_t name = 0, domain = 0, tid = 0;
    bool ended = false;  ///< This half is the end: buffers of two threads may come out of order.
  };

  void DecodeEvent(std::span<const headroom_record> event, Sink& sink);
  void DecodeGpuTask(std::span<const headroom_record> event, Sink& sink);
  void DecodeMarker(const headroom_record& head, const MarkerPayload& payload, Sink& sink);
  Range RangeOf(const HalfRange& half);
  std::string_view Name(std::uint32_t name);
  std::string_view KernelName(std::uint32_t name);

  NameOf name_of_;
  std::vector<headroom_record> cut_;  ///< The begin of an event whose rest is to come.
  std::unordered_map<std::uint32_t, std::string> kernels_;
  std::unordered_map<std::uint32_t, HalfRange> half_ranges_;  ///< By marker id.
  std::int64_t events_ = 0, unknown_ = 0;
};

}  // namespace headroom::activity
