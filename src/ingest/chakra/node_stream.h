// The tokenizer of Chakra execution traces: finds messages, each behind its length, in a stream of
// bytes.
//
// At damage it looks for the next place that can only be a node: one that is well-formed, and that
// another node or the end follows. What it finds does not depend on the sizes in which the bytes
// come.
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
  std::int64_t offset = 0;  ///< Of its length, in the decompressed file; 0: it is the metadata.
  std::string_view text;    ///< Lives until the next call.
};

/// Whether a file that begins with `head` is a Chakra execution trace: metadata, then a node, as
/// far as they are in `head`.
bool LooksLikeTrace(std::string_view head);

/// Messages of a stream, in order. Not thread-safe.
class NodeStream {
 public:
  /// Reads `chunk_bytes` at a time; larger messages than `max_message_bytes` are passed over.
  NodeStream(ByteSource& source, std::size_t chunk_bytes, std::int64_t max_message_bytes,
             ImportLog& log)
      : source_(source),
        log_(log),
        chunk_bytes_(chunk_bytes),
        max_message_bytes_(static_cast<std::uint64_t>(max_message_bytes)) {}

  /// Moves to the next message. False at the end, whose damage is then in the log.
  Result<bool> Next(MessageText& message);

  /// Decompressed bytes that were read.
  std::int64_t bytes() const { return offset_ + static_cast<std::int64_t>(buffer_.size()); }
  /// Places at which something could not be read.
  std::int64_t lost() const { return lost_; }

 private:
  enum class Found : std::uint8_t { kMessage, kNone, kTooLarge, kCut };

  /// Looks for a message at `at`; where there is one, marks its text and end.
  Result<Found> MessageAt(std::size_t at, std::uint64_t limit, std::string_view& text,
                          std::size_t& end);
  /// Whether the place is the end of the file or a message that can only be a node.
  Result<bool> IsNodeOrEnd(std::size_t at);
  /// Moves `at_` to the next place that can only be a node, or to the end.
  Status Resynchronize();
  /// Whether `size` bytes from `at` on are there, reading more as needed.
  Result<bool> Have(std::size_t at, std::uint64_t size);
  /// Forgets what was passed, now and then.
  void DropPassed();

  ByteSource& source_;
  ImportLog& log_;
  std::size_t chunk_bytes_;
  std::uint64_t max_message_bytes_;
  std::string buffer_;
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;  ///< Of the buffer's first byte.
  std::int64_t lost_ = 0;
  bool ended_ = false;
};

}  // namespace headroom::chakra
