#include "capture/activity_decoder.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace headroom::activity {
namespace {

Kind KindOf(const headroom_record& record) { return static_cast<Kind>(record.info & 0xff); }
std::size_t LengthOf(const headroom_record& record) { return 1 + (record.info >> 8); }

/// Returns the payload that starts `at` records after the event's first. REQUIRES: the payload is
/// inside the event.
template <typename Payload>
Payload PayloadAt(std::span<const headroom_record> event, std::size_t at = 1) {
  Payload payload;
  std::memcpy(&payload, event.data() + at, sizeof payload);
  return payload;
}

/// Returns true if the event contains a `Payload`. Later versions may append further records.
template <typename Payload>
bool Has(std::span<const headroom_record> event) {
  return event.size() >= 1 + kRecords<Payload>;
}

/// Demangles the function's own name and keeps the rest mangled: "cutlass::device_kernel<I...>".
/// Returns the input if it does not start with a function's name.
std::string DemangleFront(std::string_view mangled) {
  std::string_view rest = mangled.substr(2);
  const bool nested = rest.starts_with('N');
  if (nested) rest.remove_prefix(1);
  std::string name;
  if (rest.starts_with("St")) {
    name = "std";
    rest.remove_prefix(2);
  }
  while (!rest.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), length);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (error != std::errc() || length > rest.size()) break;
    const std::string_view part = rest.substr(0, length);
    rest.remove_prefix(length);
    if (!name.empty()) name += "::";
    name += part.starts_with("_GLOBAL__N_") ? "(anonymous namespace)" : part;
    if (!nested) break;
  }
  if (name.empty()) return std::string(mangled);
  const bool of_template = rest.starts_with('I');
  name.append(of_template ? "<" : "(").append(rest).append(of_template ? ">" : ")");
  return name;
}

/// Limit for the length of an event, in records. No valid event is that long, so a larger length
/// means damage.
constexpr std::size_t kLongest = 256;
/// Maximum number of stored begins without an end, and ends without a begin.
constexpr std::size_t kMaxHalfRanges = 1 << 20;

}  // namespace

std::string Demangle(std::string_view name) {
  std::string text(name);
  if (!text.starts_with("_Z")) return text;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> plain(
      abi::__cxa_demangle(text.c_str(), nullptr, nullptr, &status), &std::free);
  if (plain != nullptr) return plain.get();
  // The C++ library does not demangle names of more than 1,024 characters, such as those of nested
  // templates. Callers cannot change this limit.
  constexpr std::size_t kLongestDemangled = 1024;
  return name.size() > kLongestDemangled ? DemangleFront(name) : text;
}

std::string_view CopyText(std::uint8_t copy) {
  static constexpr std::array<std::string_view, 11> kTexts = {
      "", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
  return copy < kTexts.size() ? kTexts[copy] : std::string_view();
}

void Decoder::Decode(std::span<const headroom_record> records, Sink& sink) {
  if (!cut_.empty()) {
    const std::size_t missing = LengthOf(cut_.front()) - cut_.size();
    const std::size_t here = std::min(missing, records.size());
    cut_.insert(cut_.end(), records.begin(), records.begin() + here);
    records = records.subspan(here);
    if (here < missing) return;
    const std::vector<headroom_record> event = std::exchange(cut_, {});
    DecodeEvent(event, sink);
  }
  while (!records.empty()) {
    std::size_t length = LengthOf(records.front());
    if (length > kLongest) {
      ++unknown_;
      length = 1;
    } else if (length > records.size()) {
      cut_.assign(records.begin(), records.end());
      return;
    } else {
      DecodeEvent(records.first(length), sink);
    }
    records = records.subspan(length);
  }
}

std::string_view Decoder::Name(std::uint32_t name) {
  return name == 0 ? std::string_view() : name_of_(name);
}

std::string_view Decoder::KernelName(std::uint32_t name) {
  auto [entry, is_new] = kernels_.try_emplace(name);
  if (is_new) entry->second = Demangle(Name(name));
  return entry->second;
}

void Decoder::DecodeEvent(std::span<const headroom_record> event, Sink& sink) {
  const headroom_record& head = event.front();
  ++events_;
  switch (KindOf(head)) {
    case Kind::kGpuTask:
      if (Has<GpuTaskPayload>(event)) return DecodeGpuTask(event, sink);
      break;
    case Kind::kRuntimeCall:
    case Kind::kDriverCall:
      if (Has<CallPayload>(event)) {
        const auto payload = PayloadAt<CallPayload>(event);
        return sink.OnApiCall({.start = head.ticks,
                               .end = payload.end,
                               .name = Name(head.name),
                               .tid = payload.tid,
                               .correlation = payload.correlation,
                               .driver = KindOf(head) == Kind::kDriverCall});
      }
      break;
    case Kind::kOverhead:
      if (Has<OverheadPayload>(event)) {
        const auto payload = PayloadAt<OverheadPayload>(event);
        return sink.OnOverhead(
            {.start = head.ticks, .end = payload.end, .name = Name(head.name), .tid = payload.tid});
      }
      break;
    case Kind::kSync:
      if (Has<SyncPayload>(event)) {
        const auto payload = PayloadAt<SyncPayload>(event);
        return sink.OnSync({.start = head.ticks,
                            .end = payload.end,
                            .name = Name(head.name),
                            .correlation = payload.correlation,
                            .context = payload.context,
                            .stream = payload.stream,
                            .event = payload.event});
      }
      break;
    case Kind::kMarker:
      if (Has<MarkerPayload>(event))
        return DecodeMarker(head, PayloadAt<MarkerPayload>(event), sink);
      break;
    case Kind::kNaming:
      if (Has<NamingPayload>(event)) {
        const auto payload = PayloadAt<NamingPayload>(event);
        return sink.OnNaming({.object = payload.object,
                              .name = Name(head.name),
                              .id = payload.id,
                              .context = payload.context,
                              .device = payload.device});
      }
      break;
    case Kind::kExternalId:
      if (Has<ExternalIdPayload>(event)) {
        const auto payload = PayloadAt<ExternalIdPayload>(event);
        return sink.OnExternalId(
            {.id = payload.id, .correlation = payload.correlation, .kind = payload.kind});
      }
      break;
    case Kind::kMessage:
      if (Has<MessagePayload>(event)) {
        const auto payload = PayloadAt<MessagePayload>(event);
        return sink.OnMessage({.ticks = head.ticks,
                               .what = Name(head.name),
                               .value = payload.value,
                               .text = Name(payload.text),
                               .severity = payload.severity});
      }
      break;
  }
  ++unknown_;
}

void Decoder::DecodeGpuTask(std::span<const headroom_record> event, Sink& sink) {
  const headroom_record& head = event.front();
  const auto payload = PayloadAt<GpuTaskPayload>(event);
  GpuTask task{.start = head.ticks,
               .end = payload.end,
               .work = payload.work,
               .device = payload.device,
               .stream = payload.stream,
               .context = payload.context,
               .correlation = payload.correlation,
               .graph_node = payload.graph_node,
               .bytes = payload.bytes};
  switch (payload.work) {
    case Work::kKernel:
      task.name = KernelName(head.name);
      if (event.size() >= kMaxRecords)
        task.kernel = PayloadAt<KernelPayload>(event, 1 + kRecords<GpuTaskPayload>);
      break;
    case Work::kMemcpy:
      task.name = Name(head.name);
      task.copy = CopyText(payload.copy);
      break;
    case Work::kMemset:
      task.name = Name(head.name);
      break;
    default:
      ++unknown_;
      return;
  }
  sink.OnGpuTask(task);
}

Range Decoder::RangeOf(const HalfRange& half) {
  return {.start = half.ticks,
          .end = half.ticks,
          .name = Name(half.name),
          .domain = Name(half.domain),
          .tid = half.tid};
}

void Decoder::DecodeMarker(const headroom_record& head, const MarkerPayload& payload, Sink& sink) {
  const HalfRange half{.ticks = head.ticks,
                       .name = head.name,
                       .domain = payload.domain,
                       .tid = payload.tid,
                       .ended = payload.phase == Phase::kEnd};
  if (payload.phase == Phase::kInstant) return sink.OnRange(RangeOf(half));
  if (payload.phase != Phase::kBegin && payload.phase != Phase::kEnd) {
    ++unknown_;
    return;
  }
  const auto other = half_ranges_.find(payload.id);
  if (other == half_ranges_.end() || other->second.ended == half.ended) {
    if (half_ranges_.size() < kMaxHalfRanges) half_ranges_[payload.id] = half;
    return;
  }
  const HalfRange& begin = half.ended ? other->second : half;
  const HalfRange& end = half.ended ? half : other->second;
  Range range = RangeOf(begin);
  range.end = std::max(begin.ticks, end.ticks);
  half_ranges_.erase(other);
  sink.OnRange(range);
}

void Decoder::Finish(Sink& sink) {
  std::vector<std::pair<std::uint32_t, HalfRange>> left(half_ranges_.begin(), half_ranges_.end());
  std::sort(left.begin(), left.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  half_ranges_.clear();
  for (const auto& [id, half] : left) {
    if (half.ended) continue;  // The range began before the recording.
    Range range = RangeOf(half);
    range.open = true;
    sink.OnRange(range);
  }
}

}  // namespace headroom::activity
