#include "capture/cupti/record_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "capture/activity.h"
#include "capture/cupti/noisy_calls.h"

namespace headroom::cupti {
namespace {

using activity::Kind;

/// Timestamps that are outside the recorded time by more than this are invalid. Every counter takes
/// at least 1 s for this number of ticks.
constexpr std::uint64_t kSlackTicks = std::uint64_t{1} << 32;

/// Same names as in PyTorch's profiler, which rules and users know.
constexpr const char* kCopies[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
                                   "AtoD",    "DtoA", "DtoD", "HtoH", "PtoP"};
constexpr const char* kMemories[] = {"Unknown", "Pageable", "Pinned",        "Device",
                                     "Array",   "Managed",  "Device Static", "Managed Static"};
constexpr const char* kSyncs[] = {"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                  "Context Sync"};

const char* MemoryText(std::uint32_t kind) {
  return kind < std::size(kMemories) ? kMemories[kind] : kMemories[0];
}

const char* OverheadText(std::uint32_t kind) {
  static constexpr const char* kOfCupti[] = {"Unknown",
                                             "Buffer Flush",
                                             "Instrumentation",
                                             "Resource",
                                             "Runtime Triggered Module Loading",
                                             "Lazy Function Loading",
                                             "Command Buffer Full",
                                             "Activity Buffer Request",
                                             "UVM Activity Init"};
  if (kind == 1) return "Driver Compiler";
  const std::uint32_t of_cupti = kind >> 16;
  return of_cupti < std::size(kOfCupti) ? kOfCupti[of_cupti] : kOfCupti[0];
}

std::uint32_t NameOrNone(const char* text) {
  return text == nullptr || text[0] == 0 ? 0 : headroom_impl_key(text);
}

/// Returns CUPTI's name of a call without the interface version. cudaLaunchKernel_v7000 and
/// cudaLaunchKernel_ptsz_v7000 become cudaLaunchKernel. The driver's own _v2 is part of the name.
std::string PlainCallName(std::string_view name) {
  const std::size_t mark = name.rfind("_v");
  if (mark != std::string_view::npos && name.size() - mark >= 6) name = name.substr(0, mark);
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  return std::string(name);
}

/// Returns the name of a thread of this process; empty if the thread has ended.
std::string NameOfThread(std::uint32_t tid) {
  char text[32];
  std::snprintf(text, sizeof text, "/proc/self/task/%u/comm", tid);
  const int file = headroom_impl_above_standard(open(text, O_RDONLY | O_CLOEXEC));
  if (file < 0) return "";
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  return length > 1 ? std::string(text, static_cast<std::size_t>(length) - 1) : "";
}

constexpr std::uint32_t kThreadObject = static_cast<std::uint32_t>(activity::Object::kThread);

std::uint32_t TidOf(std::uint32_t object_kind, const ObjectId& object) {
  return object_kind == kThreadObject ? object.thread_or_context : 0;
}

}  // namespace

void RecordWriter::Anchor() {
  if (own_time_) return;
  const headroom_impl_state& state = headroom_impl_state_v1;
  std::uint64_t best_width = UINT64_MAX, ticks = 0, stamp = 0;
  for (int i = 0; i < 16; ++i) {
    std::uint64_t reading = 0;
    const std::uint64_t before = headroom_impl_ticks(state.clock);
    if (library_->get_timestamp(&reading) != kSuccess) return;
    const std::uint64_t width = headroom_impl_ticks(state.clock) - before;
    if (width >= best_width) continue;
    best_width = width;
    ticks = before + width / 2;
    stamp = reading;
  }
  const headroom_impl_anchor now = headroom_impl_anchor_now(state.clock);
  const std::lock_guard lock(mutex_);
  anchor_ticks_ = ticks;
  anchor_stamp_ = stamp;
  // Computes the mean rate since the process's start. CUPTI's clock runs at the rate of
  // CLOCK_MONOTONIC.
  if (now.ns > state.anchor.ns) {
    ticks_per_ns_ = static_cast<double>(now.ticks - state.anchor.ticks) /
                    static_cast<double>(now.ns - state.anchor.ns);
  }
}

bool RecordWriter::ToTicks(std::uint64_t start, std::uint64_t end, Interval* out) {
  *out = {start, end};
  if (start != 0 && !own_time_) {
    const auto convert = [&](std::uint64_t stamp) {
      const auto off = static_cast<double>(static_cast<std::int64_t>(stamp - anchor_stamp_));
      return anchor_ticks_ + static_cast<std::uint64_t>(std::int64_t(off * ticks_per_ns_));
    };
    *out = {convert(start), convert(end)};
  }
  const bool good = start != 0 && end >= start && out->start + kSlackTicks >= begin_ticks_ &&
                    out->end <= latest_ticks_ + kSlackTicks;
  if (!good) ++untimed_;
  return good;
}

bool RecordWriter::Say(const char* what, std::int64_t value, const char* text,
                       activity::Severity severity) {
  const activity::MessagePayload payload{
      .value = value, .text = NameOrNone(text), .severity = severity};
  const std::uint32_t name = headroom_impl_key(what);
  const std::lock_guard lock(mutex_);
  return ring_->Write(Kind::kMessage, headroom_impl_ticks(headroom_impl_state_v1.clock), name,
                      payload);
}

bool RecordWriter::IsOurThread(std::uint32_t tid) {
  std::atomic<std::uint64_t>& slot = threads_[tid % kThreads];
  const std::uint64_t kept = slot.load(std::memory_order_relaxed);
  if (kept >> 1 == tid) return (kept & 1) != 0;
  // Thread names of headroom/gpu_timer.hpp and of the session.
  const std::string name = NameOfThread(tid);
  const bool ours = name == "headroom-gpu" || name == "headroom-cupti";
  slot.store(std::uint64_t{tid} << 1 | (ours ? 1 : 0), std::memory_order_relaxed);
  return ours;
}

void RecordWriter::ForgetThreads() {
  // Keeps Headroom's threads: they live until the process exits, and their last calls arrive after
  // their end.
  for (std::atomic<std::uint64_t>& slot : threads_) {
    if ((slot.load(std::memory_order_relaxed) & 1) == 0) slot.store(0, std::memory_order_relaxed);
  }
}

void RecordWriter::NameCall(const Api& record) {
  if (record.cbid >= kCalls) return;
  std::atomic<std::uint32_t>& name = call_names_[record.kind == kDriver][record.cbid];
  if (name.load(std::memory_order_relaxed) != 0) return;
  const Domain domain = record.kind == kDriver ? kDriverApi : kRuntimeApi;
  const char* text = nullptr;
  const bool known =
      library_->get_callback_name(domain, record.cbid, &text) == kSuccess && text != nullptr;
  const std::string plain = known ? PlainCallName(text)
                                  : (record.kind == kDriver ? "driver call " : "runtime call ") +
                                        std::to_string(record.cbid);
  name.store(headroom_impl_key(plain.c_str()), std::memory_order_relaxed);
}

std::size_t RecordWriter::WriteBuffer(std::uint8_t* buffer, std::size_t valid) {
  const Activity* batch[kBatch] = {};
  std::size_t count = 0;
  Activity* record = nullptr;
  Result result = kMaxLimitReached;
  while (valid > 0 && (result = library_->get_next_record(buffer, valid, &record)) == kSuccess) {
    if (record->kind == kRuntime || record->kind == kDriver) {
      const auto& call = *reinterpret_cast<const Api*>(record);
      if (IsNoisy(call.kind, call.cbid) || IsOurThread(call.thread_id)) continue;
      NameCall(call);
    }
    batch[count++] = record;
    if (count == kBatch) {
      WriteBatch(batch, count);
      count = 0;
    }
  }
  WriteBatch(batch, count);
  if (result == kMaxLimitReached) return 0;
  const auto read = static_cast<std::size_t>(
      record == nullptr ? 0 : reinterpret_cast<const std::uint8_t*>(record) - buffer);
  return valid - std::min(read, valid);
}

void RecordWriter::WriteBatch(const Activity* const* records, std::size_t count) {
  const std::lock_guard lock(mutex_);
  latest_ticks_ = headroom_impl_ticks(headroom_impl_state_v1.clock);
  for (std::size_t i = 0; i < count; ++i) WriteRecord(*records[i]);
}

void RecordWriter::WriteRecord(const Activity& record) {
  switch (record.kind) {
    case kConcurrentKernel:
      return WriteKernel(reinterpret_cast<const Kernel&>(record));
    case kMemcpy:
      return WriteCopy(reinterpret_cast<const Memcpy&>(record));
    case kPeerCopy:
      return WriteCopy(reinterpret_cast<const PeerCopy&>(record));
    case kMemset:
      return WriteMemset(reinterpret_cast<const Memset&>(record));
    case kRuntime:
      return WriteRuntimeCall(reinterpret_cast<const Api&>(record));
    case kDriver:
      return HoldDriverCall(reinterpret_cast<const Api&>(record));
    case kOverhead:
      return WriteOverhead(reinterpret_cast<const Overhead&>(record));
    case kSynchronization:
      return WriteSync(reinterpret_cast<const Sync&>(record));
    case kMarker:
      return WriteMarker(reinterpret_cast<const Marker&>(record));
    case kName:
      return WriteNaming(reinterpret_cast<const NameRecord&>(record));
    case kExternalCorrelation: {
      const auto& external = reinterpret_cast<const ExternalCorrelation&>(record);
      const activity::ExternalIdPayload payload{.id = external.external_id,
                                                .correlation = external.correlation_id,
                                                .kind = external.external_kind};
      ring_->Write(Kind::kExternalId, 0, 0, payload);
      return;
    }
  }
}

std::uint32_t RecordWriter::NameOfKernel(const char* text) {
  if (text == nullptr) return NameOrNone("(unnamed kernel)");
  KernelName& kept =
      kernel_names_[(reinterpret_cast<std::uintptr_t>(text) >> 3) * 0x9e3779b97f4a7c15u >> 52];
  if (kept.text == text) {
    // Compares the strings: the module may have been unloaded, and another kernel's name may be at
    // this address.
    const headroom_shared* shared = headroom_impl_state_v1.shared;
    const auto* names = reinterpret_cast<const headroom_name*>(
        reinterpret_cast<const char*>(shared) + shared->names_offset);
    const headroom_name& name = names[kept.name];
    const char* as_kept = reinterpret_cast<const char*>(shared) + shared->text_offset + name.offset;
    if (std::strncmp(as_kept, text, name.length) == 0 && text[name.length] == 0) return kept.name;
  }
  kept = {text, headroom_impl_key(text)};
  return kept.name;
}

void RecordWriter::WriteKernel(const Kernel& record) {
  Interval time;
  if (!ToTicks(record.start, record.end, &time)) return;
  const activity::GpuTaskPayload payload{.end = time.end,
                                         .correlation = record.correlation_id,
                                         .device = static_cast<std::uint16_t>(record.device_id),
                                         .work = activity::Work::kKernel,
                                         .copy = 0,
                                         .stream = record.stream_id,
                                         .context = record.context_id,
                                         .graph_node = record.graph_node_id,
                                         .bytes = 0,
                                         .reserved = 0};
  const auto size = [](std::int32_t value) { return static_cast<std::uint32_t>(value); };
  const activity::KernelPayload shape{
      .grid = {size(record.grid_x), size(record.grid_y), size(record.grid_z)},
      .block = {size(record.block_x), size(record.block_y), size(record.block_z)},
      .registers = record.registers_per_thread,
      .shared_memory = size(record.static_shared_memory) + size(record.dynamic_shared_memory)};
  ring_->Write(Kind::kGpuTask, time.start, NameOfKernel(record.name), payload, &shape);
}

template <typename Copy>
void RecordWriter::WriteCopy(const Copy& record) {
  Interval time;
  if (!ToTicks(record.start, record.end, &time)) return;
  std::uint32_t& name =
      copy_names_[record.copy_kind & 15][record.src_kind & 7][record.dst_kind & 7];
  if (name == 0) {
    char text[64];
    const char* copy =
        record.copy_kind < std::size(kCopies) ? kCopies[record.copy_kind] : kCopies[0];
    std::snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", copy, MemoryText(record.src_kind),
                  MemoryText(record.dst_kind));
    name = headroom_impl_key(text);
  }
  const activity::GpuTaskPayload payload{.end = time.end,
                                         .correlation = record.correlation_id,
                                         .device = static_cast<std::uint16_t>(record.device_id),
                                         .work = activity::Work::kMemcpy,
                                         .copy = record.copy_kind,
                                         .stream = record.stream_id,
                                         .context = record.context_id,
                                         .graph_node = record.graph_node_id,
                                         .bytes = record.bytes,
                                         .reserved = 0};
  ring_->Write(Kind::kGpuTask, time.start, name, payload);
}

void RecordWriter::WriteMemset(const Memset& record) {
  Interval time;
  if (!ToTicks(record.start, record.end, &time)) return;
  char text[32];
  std::snprintf(text, sizeof text, "Memset (%s)", MemoryText(record.memory_kind));
  const activity::GpuTaskPayload payload{.end = time.end,
                                         .correlation = record.correlation_id,
                                         .device = static_cast<std::uint16_t>(record.device_id),
                                         .work = activity::Work::kMemset,
                                         .copy = 0,
                                         .stream = record.stream_id,
                                         .context = record.context_id,
                                         .graph_node = record.graph_node_id,
                                         .bytes = record.bytes,
                                         .reserved = 0};
  ring_->Write(Kind::kGpuTask, time.start, headroom_impl_key(text), payload);
}

void RecordWriter::WriteRuntimeCall(const Api& record) {
  // Drops the driver calls inside the runtime call. They end before it, so they are still held.
  const auto nested = [&](const HeldCall& call) {
    return call.correlation == record.correlation_id;
  };
  held_count_ =
      static_cast<std::size_t>(std::remove_if(held_, held_ + held_count_, nested) - held_);
  Interval time;
  if (record.cbid == 0 || !ToTicks(record.start, record.end, &time)) return;
  const activity::CallPayload payload{
      .end = time.end, .tid = record.thread_id, .correlation = record.correlation_id};
  ring_->Write(Kind::kRuntimeCall, time.start,
               call_names_[0][std::min<std::size_t>(record.cbid, kCalls - 1)], payload);
}

void RecordWriter::HoldDriverCall(const Api& record) {
  Interval time;
  if (record.cbid == 0 || !ToTicks(record.start, record.end, &time)) return;
  if (held_count_ == kHeld) {
    constexpr std::size_t oldest = kHeld / 2;
    std::for_each(held_, held_ + oldest, [&](const HeldCall& call) { WriteDriverCall(call); });
    std::move(held_ + oldest, held_ + kHeld, held_);
    held_count_ -= oldest;
  }
  held_[held_count_++] = {.time = time,
                          .name = call_names_[1][std::min<std::size_t>(record.cbid, kCalls - 1)],
                          .tid = record.thread_id,
                          .correlation = record.correlation_id,
                          .seen = false};
}

void RecordWriter::WriteDriverCall(const HeldCall& call) {
  const activity::CallPayload payload{
      .end = call.time.end, .tid = call.tid, .correlation = call.correlation};
  ring_->Write(Kind::kDriverCall, call.time.start, call.name, payload);
}

void RecordWriter::WriteHeld(bool all) {
  const std::lock_guard lock(mutex_);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < held_count_; ++i) {
    if (all || held_[i].seen) {
      WriteDriverCall(held_[i]);
    } else {
      held_[kept] = held_[i];
      held_[kept++].seen = true;
    }
  }
  held_count_ = kept;
}

void RecordWriter::WriteOverhead(const Overhead& record) {
  Interval time;
  if (!ToTicks(record.start, record.end, &time)) return;
  const activity::OverheadPayload payload{
      .end = time.end, .tid = TidOf(record.object_kind, record.object), .reserved = 0};
  ring_->Write(Kind::kOverhead, time.start, headroom_impl_key(OverheadText(record.overhead_kind)),
               payload);
}

void RecordWriter::WriteSync(const Sync& record) {
  Interval time;
  if (!ToTicks(record.start, record.end, &time)) return;
  const char* name = record.type < std::size(kSyncs) ? kSyncs[record.type] : kSyncs[0];
  const activity::SyncPayload payload{.end = time.end,
                                      .correlation = record.correlation_id,
                                      .context = record.context_id,
                                      .stream = record.stream_id,
                                      .event = record.event_id,
                                      .reserved = 0};
  ring_->Write(Kind::kSync, time.start, headroom_impl_key(name), payload);
}

void RecordWriter::WriteMarker(const Marker& record) {
  Interval time;
  if (!ToTicks(record.timestamp, record.timestamp, &time)) return;
  using activity::Phase;
  Phase phase = Phase::kInstant;
  if ((record.flags & kMarkerStart) != 0) phase = Phase::kBegin;
  if ((record.flags & kMarkerEnd) != 0) phase = Phase::kEnd;
  const activity::MarkerPayload payload{.id = record.id,
                                        .phase = phase,
                                        .tid = TidOf(record.object_kind, record.object),
                                        .domain = NameOrNone(record.domain)};
  ring_->Write(Kind::kMarker, time.start, NameOrNone(record.name), payload);
}

void RecordWriter::WriteNaming(const NameRecord& record) {
  using activity::Object;
  const ObjectId& id = record.object;
  activity::NamingPayload payload{};
  if (record.object_kind <= static_cast<std::uint32_t>(Object::kStream))
    payload.object = static_cast<Object>(record.object_kind);
  switch (payload.object) {
    case Object::kProcess:
    case Object::kDevice:
      payload.id = id.process_or_device;
      break;
    case Object::kThread:
      payload.id = id.thread_or_context;
      break;
    case Object::kContext:
      payload.id = id.thread_or_context;
      payload.device = id.process_or_device;
      break;
    case Object::kStream:
      payload.id = id.stream;
      payload.context = id.thread_or_context;
      payload.device = id.process_or_device;
      break;
    case Object::kUnknown:
      return;
  }
  ring_->Write(Kind::kNaming, 0, NameOrNone(record.name), payload);
}

}  // namespace headroom::cupti
