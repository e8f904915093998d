// The tokenizer of Perfetto traces: finds whole packets in a stream of bytes and marks their
// fields. It gives no meaning to them and copies nothing.
//
// At damage it looks for the next place that can only be a packet: one that is well-formed and
// plausible, and that another packet or the end follows. What it finds does not depend on the sizes
// in which the bytes come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/import_log.h"

namespace headroom::perfetto {

/// The fields of a packet, as views into its text; those that are absent are empty or 0.
struct Packet {
  std::int64_t offset = 0;  ///< In the decompressed file.
  std::uint64_t timestamp = 0;
  std::uint32_t clock = 0;
  std::uint32_t sequence = 0;
  std::uint32_t flags = 0;  ///< SequenceFlag bits.
  bool has_timestamp = false;
  std::uint32_t unread = 0;  ///< Number of a field with data of a kind that is not read.
  std::string_view clock_snapshot, defaults, track_descriptor, process_descriptor,
      thread_descriptor, interned_data, track_event, gpu_render_stage, deflated, zstd;
};

/// Marks the fields of a packet. False where it is not well-formed.
bool ReadPacket(std::string_view text, Packet& packet);

/// Whether a file that begins with `head` is a Perfetto trace: its first packet is well-formed, as
/// far as it is in `head`, and has fields that XPlane files and other protobuf have not.
bool LooksLikeTrace(std::string_view head);

/// Packets of a stream, in order. Not thread-safe.
class PacketStream {
 public:
  /// Reads `chunk_bytes` at a time; packets larger than `max_packet_bytes` count as damage.
  PacketStream(ByteSource& source, std::size_t chunk_bytes, std::int64_t max_packet_bytes,
               ImportLog& log)
      : source_(source),
        log_(log),
        chunk_bytes_(chunk_bytes),
        max_packet_bytes_(static_cast<std::uint64_t>(max_packet_bytes)) {}

  /// Moves to the next packet, whose texts live until the next call. False at the end, whose damage
  /// is then in the log.
  Result<bool> Next(Packet& packet);

  /// Decompressed bytes that were read.
  std::int64_t bytes() const { return offset_ + static_cast<std::int64_t>(buffer_.size()); }

 private:
  enum class Found : std::uint8_t { kPacket, kNone, kCut };

  /// Looks for a packet at `at_`; where there is one, marks its text and length.
  Result<Found> PacketAt(std::size_t at, std::uint64_t limit, std::string_view& text,
                         std::size_t& end);
  /// Moves `at_` to the next place that can only be a packet, or to the end.
  Status Resynchronize();
  /// Whether `size` bytes from `at` on are there, reading more as needed.
  Result<bool> Have(std::size_t at, std::uint64_t size);

  ByteSource& source_;
  ImportLog& log_;
  std::size_t chunk_bytes_;
  std::uint64_t max_packet_bytes_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;  ///< Of the buffer's first byte.
  bool ended_ = false;
};

}  // namespace headroom::perfetto
