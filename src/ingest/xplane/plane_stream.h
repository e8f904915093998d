// Finds the planes of an XPlane file in a stream of bytes, one after the other: of a file, only the
// plane at hand is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/page_buffer.h"
#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "store/import_log.h"

namespace headroom::xplane {

/// One plane as written. A plane of program texts ("/host:metadata") is not handed out.
struct PlaneText {
  std::int64_t offset = 0;  ///< Of the text in the decompressed file.
  std::string_view name;
  std::string_view text;  ///< Lives until the next call.
  bool cut = false;       ///< The file ends inside of it.
};

/// Whether bytes begin with a plane of a profile, and so can hardly be anything else.
bool LooksLikeTrace(std::string_view head);

/// Planes of a stream, in order. What they are does not depend on the sizes in which bytes come.
/// Behind damage between planes, reading goes on at the next plane. Not thread-safe.
class PlaneStream {
 public:
  PlaneStream(ByteSource& source, std::size_t chunk_bytes, ImportLog& log)
      : source_(source), chunk_bytes_(chunk_bytes), log_(log) {}

  /// False at the end, whose damage is then in the log.
  Result<bool> Next(PlaneText& plane);

  /// Decompressed bytes that were taken so far.
  std::int64_t bytes() const { return offset_ + static_cast<std::int64_t>(head_.size()); }

 private:
  struct Field {
    std::uint32_t number = 0;
    std::size_t header = 0;  ///< Bytes of key and length.
    std::uint64_t length = 0;
  };
  enum class Found : std::uint8_t { kField, kCut, kNone };

  /// Reads ahead until `size` bytes from `at` are there, or the file ends.
  Status Fill(std::size_t at, std::size_t size);
  /// The field whose key begins the bytes at hand.
  Found FieldHere(Field& field) const;
  /// Takes the body of a field; fewer bytes at the end of the file.
  Status TakeBody(std::uint64_t length);
  Status SkipBody(std::uint64_t length, bool& cut);
  /// Moves to the next place that can only be a plane, or to the end.
  Status Resynchronize();
  void Drop(std::size_t bytes);

  ByteSource& source_;
  std::size_t chunk_bytes_;
  ImportLog& log_;
  std::string head_;  ///< Bytes read ahead.
  std::size_t at_ = 0;
  std::int64_t offset_ = 0;  ///< Of head_'s first byte.
  bool ended_ = false;
  PageBuffer<char> body_;
  std::size_t body_size_ = 0;
};

}  // namespace headroom::xplane
