// The tokenizer of Chakra execution traces: finds messages in a stream of bytes. The length of each
// message precedes it.
//
// After damage it searches for the next place that can only be a node: well-formed, and followed by
// another node or the end. The result does not depend on the sizes of the reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/import_log.h"

namespace headroom::chakra {

struct MessageText {
  std::int64_t offset =
      0;  ///< Offset of the message's length in the file, decompressed; 0 for the metadata.
  std::string_view text;  ///< Valid until the next call.
};

/// Returns true if a file that begins with `head` is a Chakra execution trace: metadata, then a
/// node, checked for the part inside `head`.
bool LooksLikeTrace(std::string_view head);

/// Messages of a stream, in order. Not thread-safe.
class NodeStream {
 public:
  /// Reads `chunk_bytes` at a time. Messages larger than `max_message_bytes` are skipped.
  NodeStream(ByteSource& source, std::size_t chunk_bytes, std::int64_t max_message_bytes,
             ImportLog& log)
      : source_(source),
        log_(log),
        chunk_bytes_(chunk_bytes),
        max_message_bytes_(static_cast<std::uint64_t>(max_message_bytes)) {}

  /// Moves to the next message. Returns false at the end; damage is then in the log.
  Result<bool> Next(MessageText& message);

  /// Returns the number of decompressed bytes read so far.
  std::int64_t bytes() const { return offset_ + static_cast<std::int64_t>(buffer_.size()); }
  /// Returns the number of unreadable places, each of which was skipped.
  std::int64_t lost() const { return lost_; }

 private:
  enum class Found : std::uint8_t { kMessage, kNone, kTooLarge, kCut };

  /// Checks for a message at `at`. If there is one, sets its text and end.
  Result<Found> MessageAt(std::size_t at, std::uint64_t limit, std::string_view& text,
                          std::size_t& end);
  /// Returns true if the place is the end of the file or a message that can only be a node.
  Result<bool> IsNodeOrEnd(std::size_t at);
  /// Moves `at_` to the next place that can only be a node, or to the end.
  Status Resynchronize();
  /// Returns true if `size` bytes from `at` on are available; reads more as needed.
  Result<bool> Have(std::size_t at, std::uint64_t size);
  /// Drops the bytes of earlier messages once they fill half of the buffer.
  void DropPassed();

  ByteSource& source_;
  ImportLog& log_;
  std::size_t chunk_bytes_;
  std::uint64_t max_message_bytes_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;  ///< Offset of the buffer's first byte.
  std::int64_t lost_ = 0;
  bool ended_ = false;
};

}  // namespace headroom::chakra
