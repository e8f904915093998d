#include "ingest/perfetto/packet_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/perfetto_fields.h"
#include "base/protobuf_reader.h"

namespace headroom::perfetto {
namespace {

constexpr char kPacketKey = static_cast<char>(FieldKey(TraceField::kPacket, WireType::kBytes));
constexpr std::size_t kLongestHeader = 1 + kMaxVarintBytes;
/// After damage, the search accepts only packets of at most this size and checks only this many of
/// their fields. This limits the steps per byte for a hostile file.
constexpr std::uint64_t kLargestResumed = std::uint64_t{1} << 20;
constexpr int kFieldsChecked = 64;

/// Returns true if a field of a packet has the type that the format defines. Unknown field numbers
/// may have any type.
bool HasRightType(std::uint32_t field, WireType type) {
  switch (static_cast<PacketField>(field)) {
    case PacketField::kTimestamp:
    case PacketField::kSequenceId:
    case PacketField::kSequenceFlags:
    case PacketField::kIncrementalStateCleared:
    case PacketField::kPreviousPacketDropped:
    case PacketField::kTimestampClockId:
      return type == WireType::kVarint;
    default:
      // The other fields up to 15 contain messages, except 3. Higher numbers include flags and ids
      // of the tracing service.
      return field > 15 || type == WireType::kBytes || field == 3;
  }
}

/// Returns true for fields that identify a packet. Every packet has at least one of them, and other
/// protobuf data rarely has any.
bool IsTelling(std::uint32_t field) {
  switch (static_cast<PacketField>(field)) {
    case PacketField::kTimestamp:
    case PacketField::kSequenceId:
    case PacketField::kTrackEvent:
    case PacketField::kInternedData:
    case PacketField::kSequenceFlags:
    case PacketField::kDefaults:
    case PacketField::kTrackDescriptor:
    case PacketField::kCompressedPackets:
    case PacketField::kZstdCompressedPackets:
      return true;
    default:
      return field > 15 && field < 200;
  }
}

/// Returns true if a text is almost certainly a packet. `cut` means that only its beginning is
/// available.
bool IsPlausible(std::string_view text, bool cut) {
  ProtobufReader reader(text);
  bool telling = false;
  for (int i = 0; i < kFieldsChecked && reader.Next(); ++i) {
    if (!HasRightType(reader.field(), reader.type())) return false;
    telling = telling || IsTelling(reader.field());
  }
  if (reader.damaged()) {
    if (!cut) return false;
    // The text ends inside this field, but its number may be readable.
    telling = telling || (IsTelling(reader.field()) && HasRightType(reader.field(), reader.type()));
  }
  return telling;
}

/// Returns true for fields without events: the tracing service's data about itself and the packet.
bool IsOfTheService(std::uint32_t field) {
  constexpr std::uint32_t kFields[] = {3,  33, 34, 35, 36, 41, 42, 45,  46, 69,
                                       72, 78, 79, 82, 87, 89, 98, 124, 126};
  return std::find(std::begin(kFields), std::end(kFields), field) != std::end(kFields);
}

}  // namespace

bool ReadPacket(std::string_view text, Packet& packet) {
  ProtobufReader reader(text);
  while (reader.Next()) {
    switch (reader.as<PacketField>()) {
      case PacketField::kTimestamp:
        packet.timestamp = reader.integer();
        packet.has_timestamp = true;
        break;
      case PacketField::kTimestampClockId:
        packet.clock = static_cast<std::uint32_t>(reader.integer());
        break;
      case PacketField::kSequenceId:
        packet.sequence = static_cast<std::uint32_t>(reader.integer());
        break;
      case PacketField::kSequenceFlags:
        packet.flags |= static_cast<std::uint32_t>(reader.integer());
        break;
      case PacketField::kIncrementalStateCleared:
        if (reader.integer() != 0) packet.flags |= SequenceFlag::kIncrementalStateCleared;
        break;
      case PacketField::kTrackEvent:
        packet.track_event = reader.bytes();
        break;
      case PacketField::kInternedData:
        packet.interned_data = reader.bytes();
        break;
      case PacketField::kTrackDescriptor:
        packet.track_descriptor = reader.bytes();
        break;
      case PacketField::kGpuRenderStageEvent:
        packet.gpu_render_stage = reader.bytes();
        break;
      case PacketField::kClockSnapshot:
        packet.clock_snapshot = reader.bytes();
        break;
      case PacketField::kDefaults:
        packet.defaults = reader.bytes();
        break;
      case PacketField::kProcessDescriptor:
        packet.process_descriptor = reader.bytes();
        break;
      case PacketField::kThreadDescriptor:
        packet.thread_descriptor = reader.bytes();
        break;
      case PacketField::kCompressedPackets:
        packet.deflated = reader.bytes();
        break;
      case PacketField::kZstdCompressedPackets:
        packet.zstd = reader.bytes();
        break;
      default:
        if (!IsOfTheService(reader.field())) packet.unread = reader.field();
    }
  }
  return !reader.damaged();
}

bool LooksLikeTrace(std::string_view head) {
  if (head.empty() || head[0] != kPacketKey) return false;
  const char* at = head.data() + 1;
  const char* const end = head.data() + head.size();
  std::uint64_t length = 0;
  if (!GetVarint(at, end, length)) return false;
  const auto rest = static_cast<std::uint64_t>(end - at);
  return IsPlausible({at, static_cast<std::size_t>(std::min(rest, length))}, rest < length);
}

Result<bool> PacketStream::Have(std::size_t at, std::uint64_t size) {
  while (buffer_.size() - std::min(at, buffer_.size()) < size && !ended_) {
    const std::size_t used = buffer_.size();
    buffer_.resize(used + chunk_bytes_);
    const Result<std::size_t> n = source_.Read(std::span(buffer_).subspan(used));
    if (!n.ok()) return n.status();
    buffer_.resize(used + n.value());
    ended_ = n.value() < chunk_bytes_;
  }
  return at + size <= buffer_.size();
}

Result<PacketStream::Found> PacketStream::PacketAt(std::size_t at, std::uint64_t limit,
                                                   std::string_view& text, std::size_t& end) {
  const Result<bool> header = Have(at, kLongestHeader);
  if (!header.ok()) return header.status();
  if (buffer_[at] != kPacketKey) return Found::kNone;
  const char* p = buffer_.data() + at + 1;
  std::uint64_t length = 0;
  if (!GetVarint(p, buffer_.data() + buffer_.size(), length))
    return buffer_.size() - at < kLongestHeader ? Found::kCut : Found::kNone;
  if (length > limit) return Found::kNone;
  const auto start = static_cast<std::size_t>(p - buffer_.data());
  const Result<bool> body = Have(start, length);
  if (!body.ok()) return body.status();
  if (!body.value()) return Found::kCut;
  text = std::string_view(buffer_).substr(start, static_cast<std::size_t>(length));
  end = start + static_cast<std::size_t>(length);
  return Found::kPacket;
}

Status PacketStream::Resynchronize() {
  for (++at_;; ++at_) {
    // Drop the bytes of earlier packets.
    if (at_ >= chunk_bytes_ && at_ * 2 >= buffer_.size()) {
      buffer_.erase(0, at_);
      offset_ += static_cast<std::int64_t>(at_);
      at_ = 0;
    }
    const Result<bool> more = Have(at_, 1);
    if (!more.ok()) return more.status();
    if (!more.value()) return Status::Ok();
    const std::size_t next = buffer_.find(kPacketKey, at_);
    if (next == std::string::npos) {
      at_ = buffer_.size() - 1;
      continue;
    }
    at_ = next;
    std::string_view text;
    std::size_t end = 0;
    const Result<Found> found = PacketAt(at_, kLargestResumed, text, end);
    if (!found.ok()) return found.status();
    if (found.value() != Found::kPacket || !IsPlausible(text, /*cut=*/false)) continue;
    const Result<bool> behind = Have(end, 1);
    if (!behind.ok()) return behind.status();
    if (!behind.value() || buffer_[end] == kPacketKey) return Status::Ok();
  }
}

Result<bool> PacketStream::Next(Packet& packet) {
  for (;;) {
    if (at_ == buffer_.size() || (at_ >= chunk_bytes_ && at_ * 2 >= buffer_.size())) {
      buffer_.erase(0, at_);
      offset_ += static_cast<std::int64_t>(at_);
      at_ = 0;
    }
    const Result<bool> more = Have(at_, 1);
    if (!more.ok()) return more.status();
    if (!more.value()) return false;

    const std::int64_t offset = offset_ + static_cast<std::int64_t>(at_);
    std::string_view text;
    std::size_t end = 0;
    const Result<Found> found = PacketAt(at_, max_packet_bytes_, text, end);
    if (!found.ok()) return found.status();
    if (found.value() == Found::kPacket) {
      packet = Packet();
      packet.offset = offset;
      if (ReadPacket(text, packet)) {
        at_ = end;
        return true;
      }
    }
    if (const Status status = Resynchronize(); !status.ok()) return status;
    // The file ends inside a packet: the writer or the copy was stopped.
    const bool at_end = at_ == buffer_.size();
    if (found.value() == Found::kCut && at_end) {
      log_.Add(ImportIssue::kTruncated, offset, "the last packet is truncated");
    } else {
      log_.Add(ImportIssue::kLostEvent, offset,
               fmt::format("no readable packet in {} bytes",
                           offset_ + static_cast<std::int64_t>(at_) - offset));
    }
  }
}

}  // namespace headroom::perfetto
