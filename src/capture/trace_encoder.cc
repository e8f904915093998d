#include "capture/trace_encoder.h"

#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "base/perfetto_fields.h"
#include "base/protobuf_writer.h"

namespace headroom {
namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace): the field numbers.

/// Returns the key of a field that every event has. Such a key takes one byte.
template <typename Field>
constexpr char ByteKey(Field field, WireType type) {
  static_assert(FieldKey(Field(15), WireType::kFixed32) < 0x80);
  return static_cast<char>(FieldKey(field, type));
}

std::string_view WorkName(GpuTaskWork kind) {
  constexpr std::string_view kNames[] = {"kernel", "memcpy", "memset"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

TraceEncoder::TraceEncoder(std::uint32_t sequence_id)
    : sequence_id_(sequence_id), last_track_(std::uint64_t{sequence_id} << 32) {
  SetDefaults(SequenceFlag::kIncrementalStateCleared);
}

void TraceEncoder::SetDefaults(std::uint32_t sequence_flags) {
  Packet(sequence_flags, [&](ProtobufWriter& packet) {
    packet.Message(PacketField::kDefaults,
                   [&] { packet.Varint(DefaultsField::kTimestampClockId, Clock::kMonotonic); });
  });
}

template <typename Fill>
void TraceEncoder::Packet(std::uint32_t sequence_flags, Fill&& fill) {
  ProtobufWriter writer(out_);
  writer.Message(TraceField::kPacket, [&] {
    writer.Varint(PacketField::kSequenceId, sequence_id_);
    writer.Varint(PacketField::kSequenceFlags, sequence_flags);
    std::forward<Fill>(fill)(writer);
  });
}

void TraceEncoder::ClockSnapshot(TimeNs monotonic, TimeNs boottime, TimeNs realtime) {
  // Repeats the defaults, because all timestamps depend on them and the first packet may be
  // damaged.
  SetDefaults(SequenceFlag::kNeedsIncrementalState);
  Packet(SequenceFlag::kNeedsIncrementalState, [&](ProtobufWriter& packet) {
    packet.Varint(PacketField::kTimestamp, monotonic.ns());
    packet.Message(PacketField::kClockSnapshot, [&] {
      const auto clock = [&](Clock id, TimeNs time) {
        packet.Message(ClockSnapshotField::kClock, [&] {
          packet.Varint(ClockField::kId, id);
          packet.Varint(ClockField::kTimestamp, time.ns());
        });
      };
      clock(Clock::kMonotonic, monotonic);
      clock(Clock::kBoottime, boottime);
      clock(Clock::kRealtime, realtime);
      packet.Varint(ClockSnapshotField::kPrimaryTraceClock, Clock::kMonotonic);
    });
  });
}

template <typename Fill>
TraceEncoder::Track TraceEncoder::NewTrack(Track parent, std::string_view name, Fill&& fill) {
  const Track track = ++last_track_;
  Packet(SequenceFlag::kNeedsIncrementalState, [&](ProtobufWriter& packet) {
    packet.Message(PacketField::kTrackDescriptor, [&] {
      packet.Varint(TrackDescriptorField::kUuid, track);
      if (parent != 0) packet.Varint(TrackDescriptorField::kParentUuid, parent);
      if (!name.empty()) packet.Bytes(TrackDescriptorField::kName, name);
      std::forward<Fill>(fill)(packet);
    });
  });
  return track;
}

TraceEncoder::Track TraceEncoder::ProcessTrack(std::int32_t pid, std::string_view name) {
  return NewTrack(0, {}, [&](ProtobufWriter& packet) {
    packet.Message(TrackDescriptorField::kProcess, [&] {
      packet.Varint(ProcessDescriptorField::kPid, pid);
      packet.Bytes(ProcessDescriptorField::kName, name);
    });
  });
}

TraceEncoder::Track TraceEncoder::ThreadTrack(std::int32_t pid, std::int32_t tid,
                                              std::string_view name) {
  return NewTrack(0, {}, [&](ProtobufWriter& packet) {
    packet.Message(TrackDescriptorField::kThread, [&] {
      packet.Varint(ThreadDescriptorField::kPid, pid);
      packet.Varint(ThreadDescriptorField::kTid, tid);
      packet.Bytes(ThreadDescriptorField::kName, name);
    });
  });
}

TraceEncoder::Track TraceEncoder::ChildTrack(Track parent, std::string_view name) {
  return NewTrack(parent, name, [](ProtobufWriter&) {});
}

TraceEncoder::Track TraceEncoder::CounterTrack(Track parent, std::string_view name,
                                               std::string_view unit) {
  return NewTrack(parent, name, [&](ProtobufWriter& packet) {
    packet.Message(TrackDescriptorField::kCounter,
                   [&] { packet.Bytes(CounterDescriptorField::kUnitName, unit); });
  });
}

template <typename Field>
std::uint32_t TraceEncoder::InternAs(Field kind, std::string_view text, Texts& texts) {
  if (const auto known = texts.find(text); known != texts.end()) return known->second;
  const auto iid = static_cast<std::uint32_t>(texts.size() + 1);
  texts.emplace(text, iid);
  Packet(SequenceFlag::kNeedsIncrementalState, [&](ProtobufWriter& packet) {
    packet.Message(PacketField::kInternedData, [&] {
      packet.Message(kind, [&] {
        packet.Varint(InternedField::kIid, iid);
        packet.Bytes(InternedField::kText, text);
      });
    });
  });
  return iid;
}

TraceEncoder::Name TraceEncoder::Intern(std::string_view name) {
  return InternAs(InternedDataField::kEventNames, name, names_);
}

TraceEncoder::Name TraceEncoder::Category(std::string_view name) {
  return InternAs(InternedDataField::kCategories, name, categories_);
}

void TraceEncoder::Event(std::uint32_t type, Track track, TimeNs time, Name name, Name category,
                         std::span<const TraceArg> args) {
  // Interns names first: their packets must precede the event's packet.
  constexpr std::size_t kFewArgs = 16;
  std::array<std::uint32_t, kFewArgs> few_iids;
  std::vector<std::uint32_t> many_iids(args.size() > kFewArgs ? args.size() : 0);
  const std::span<std::uint32_t> iids =
      many_iids.empty() ? std::span(few_iids) : std::span(many_iids);
  for (std::size_t i = 0; i < args.size(); ++i)
    iids[i] = InternAs(InternedDataField::kDebugAnnotationNames, args[i].name, arg_names_);

  // Without arguments, a packet is so short that each of its lengths takes one byte. Building it in
  // place takes a third of ProtobufWriter's time.
  char bytes[2 + 2 * (1 + kMaxVarintBytes) + 2 + 2 + 5 * (1 + kMaxVarintBytes)];
  static_assert(sizeof bytes < 0x80);
  char* at = bytes + 2;
  *at++ = ByteKey(PacketField::kTimestamp, WireType::kVarint);
  at = PutVarint(at, static_cast<std::uint64_t>(time.ns()));
  *at++ = ByteKey(PacketField::kSequenceId, WireType::kVarint);
  at = PutVarint(at, sequence_id_);
  *at++ = ByteKey(PacketField::kSequenceFlags, WireType::kVarint);
  *at++ = static_cast<char>(SequenceFlag::kNeedsIncrementalState);
  char* const event = at;
  at += 2;
  *at++ = ByteKey(TrackEventField::kType, WireType::kVarint);
  *at++ = static_cast<char>(type);
  *at++ = ByteKey(TrackEventField::kTrack, WireType::kVarint);
  at = PutVarint(at, track);
  if (category != 0) {
    *at++ = ByteKey(TrackEventField::kCategoryIids, WireType::kVarint);
    at = PutVarint(at, category);
  }
  if (name != 0) {
    *at++ = ByteKey(TrackEventField::kNameIid, WireType::kVarint);
    at = PutVarint(at, name);
  }
  bytes[0] = ByteKey(TraceField::kPacket, WireType::kBytes);
  bytes[1] = static_cast<char>(at - bytes - 2);
  event[0] = ByteKey(PacketField::kTrackEvent, WireType::kBytes);
  event[1] = static_cast<char>(at - event - 2);
  if (args.empty()) {
    out_.append(bytes, at);
    return;
  }
  ProtobufWriter writer(out_);
  writer.Message(TraceField::kPacket, [&] {
    out_.append(bytes + 2, event);
    writer.Message(PacketField::kTrackEvent, [&] {
      out_.append(event + 2, at);
      for (std::size_t i = 0; i < args.size(); ++i) {
        writer.Message(TrackEventField::kDebugAnnotations, [&] {
          writer.Varint(DebugAnnotationField::kNameIid, iids[i]);
          const auto& value = args[i].value;
          if (const auto* integer = std::get_if<std::int64_t>(&value)) {
            writer.Varint(DebugAnnotationField::kInt, *integer);
          } else if (const auto* number = std::get_if<double>(&value)) {
            writer.Double(DebugAnnotationField::kDouble, *number);
          } else {
            writer.Bytes(DebugAnnotationField::kString, std::get<std::string_view>(value));
          }
        });
      }
    });
  });
}

void TraceEncoder::Begin(Track track, TimeNs time, Name name, Name category,
                         std::span<const TraceArg> args) {
  Event(static_cast<std::uint32_t>(TrackEventType::kSliceBegin), track, time, name, category, args);
}

void TraceEncoder::End(Track track, TimeNs time) {
  Event(static_cast<std::uint32_t>(TrackEventType::kSliceEnd), track, time, 0, 0, {});
}

void TraceEncoder::Instant(Track track, TimeNs time, Name name, Name category,
                           std::span<const TraceArg> args) {
  Event(static_cast<std::uint32_t>(TrackEventType::kInstant), track, time, name, category, args);
}

void TraceEncoder::Counter(Track track, TimeNs time, double value) {
  Packet(SequenceFlag::kNeedsIncrementalState, [&](ProtobufWriter& packet) {
    packet.Varint(PacketField::kTimestamp, time.ns());
    packet.Message(PacketField::kTrackEvent, [&] {
      packet.Varint(TrackEventField::kType, TrackEventType::kCounter);
      packet.Varint(TrackEventField::kTrack, track);
      packet.Double(TrackEventField::kDoubleCounterValue, value);
    });
  });
}

void TraceEncoder::GpuTask(const GpuTaskEvent& task) {
  const std::string queue = fmt::format("GPU {} stream {}", task.device, task.stream);
  const auto intern = [&](std::string_view text) {
    return InternAs(InternedDataField::kGpuSpecifications, text, gpu_names_);
  };
  const std::uint32_t queue_iid = intern(queue);
  const std::uint32_t stage_iid = intern(task.name);
  Packet(SequenceFlag::kNeedsIncrementalState, [&](ProtobufWriter& packet) {
    const auto extra = [&](std::string_view name, std::string_view value) {
      packet.Message(RenderStageField::kExtraData, [&] {
        packet.Bytes(ExtraDataField::kName, name);
        packet.Bytes(ExtraDataField::kValue, value);
      });
    };
    packet.Varint(PacketField::kTimestamp, task.start.ns());
    packet.Message(PacketField::kGpuRenderStageEvent, [&] {
      packet.Varint(RenderStageField::kEventId, ++gpu_events_);
      packet.Varint(RenderStageField::kDuration, task.duration.ns());
      packet.Varint(RenderStageField::kGpuId, task.device);
      packet.Varint(RenderStageField::kQueueIid, queue_iid);
      packet.Varint(RenderStageField::kStageIid, stage_iid);
      extra("kind", WorkName(task.kind));
      extra("device", fmt::format_int(task.device).c_str());
      extra("stream", fmt::format_int(task.stream).c_str());
      for (const TraceArg& arg : task.args) {
        if (const auto* text = std::get_if<std::string_view>(&arg.value)) {
          extra(arg.name, *text);
        } else if (const auto* integer = std::get_if<std::int64_t>(&arg.value)) {
          extra(arg.name, fmt::format_int(*integer).c_str());
        } else {
          extra(arg.name, fmt::format("{}", std::get<double>(arg.value)));
        }
      }
    });
  });
}

std::string TraceEncoder::Take() { return std::exchange(out_, {}); }

}  // namespace headroom
