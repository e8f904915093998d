// The tokenizer of Perfetto traces: finds complete packets in a stream of bytes and marks their
// fields. It does not interpret the fields and copies nothing.
//
// After damage it searches for the next place that can only be a packet: well-formed, plausible,
// and followed by another packet or the end. The result does not depend on the sizes of the reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/import_log.h"

namespace headroom::perfetto {

/// The fields of a packet, as views into its text. Absent fields are empty or 0.
struct Packet {
  std::int64_t offset = 0;  ///< Offset in the decompressed file.
  std::uint64_t timestamp = 0;
  std::uint32_t clock = 0;
  std::uint32_t sequence = 0;
  std::uint32_t flags = 0;  ///< SequenceFlag bits.
  bool has_timestamp = false;
  /// Number of a field whose data is not read; 0 if all fields are read.
  std::uint32_t unread = 0;
  std::string_view clock_snapshot, defaults, track_descriptor, process_descriptor,
      thread_descriptor, interned_data, track_event, gpu_render_stage, deflated, zstd;
};

/// Marks the fields of a packet. Returns false if it is not well-formed.
bool ReadPacket(std::string_view text, Packet& packet);

/// Returns true if a file that begins with `head` is a Perfetto trace. The part of its first packet
/// inside `head` must be well-formed and have fields that XPlane files and other protobuf data
/// lack.
bool LooksLikeTrace(std::string_view head);

/// Packets of a stream, in order. Not thread-safe.
class PacketStream {
 public:
  /// Reads `chunk_bytes` at a time. Packets larger than `max_packet_bytes` count as damage.
  PacketStream(ByteSource& source, std::size_t chunk_bytes, std::int64_t max_packet_bytes,
               ImportLog& log)
      : source_(source),
        log_(log),
        chunk_bytes_(chunk_bytes),
        max_packet_bytes_(static_cast<std::uint64_t>(max_packet_bytes)) {}

  /// Moves to the next packet, whose texts stay valid until the next call. Returns false at the
  /// end; damage is then in the log.
  Result<bool> Next(Packet& packet);

  /// Returns the number of decompressed bytes read so far.
  std::int64_t bytes() const { return offset_ + static_cast<std::int64_t>(buffer_.size()); }

 private:
  enum class Found : std::uint8_t { kPacket, kNone, kCut };

  /// Checks for a packet at `at`. If there is one, sets its text and end.
  Result<Found> PacketAt(std::size_t at, std::uint64_t limit, std::string_view& text,
                         std::size_t& end);
  /// Moves `at_` to the next place that can only be a packet, or to the end.
  Status Resynchronize();
  /// Returns true if `size` bytes from `at` on are available; reads more as needed.
  Result<bool> Have(std::size_t at, std::uint64_t size);

  ByteSource& source_;
  ImportLog& log_;
  std::size_t chunk_bytes_;
  std::uint64_t max_packet_bytes_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;  ///< Offset of the buffer's first byte.
  bool ended_ = false;
};

}  // namespace headroom::perfetto
