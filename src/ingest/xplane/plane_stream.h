// Finds the planes of an XPlane file in a stream of bytes, one after the other. Only the current
// plane is in memory.
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

/// One plane as written. Planes of program texts ("/host:metadata") are skipped.
struct PlaneText {
  std::int64_t offset = 0;  ///< Offset of the text in the decompressed file.
  std::string_view name;
  std::string_view text;  ///< Valid until the next call of PlaneStream::Next().
  bool cut = false;       ///< The file ends inside the plane.
};

/// Returns true if the bytes begin with a plane of an XPlane profile. Other formats almost never
/// do.
bool LooksLikeTrace(std::string_view head);

/// Planes of a stream, in order. The result does not depend on the sizes of the reads. After damage
/// between planes, reading resumes at the next plane. Not thread-safe.
class PlaneStream {
 public:
  PlaneStream(ByteSource& source, std::size_t chunk_bytes, ImportLog& log)
      : source_(source), chunk_bytes_(chunk_bytes), log_(log) {}

  /// Returns false at the end; damage is then in the log.
  Result<bool> Next(PlaneText& plane);

  /// Returns the number of decompressed bytes read so far.
  std::int64_t bytes() const { return offset_ + static_cast<std::int64_t>(head_.size()); }

 private:
  struct Field {
    std::uint32_t number = 0;
    std::size_t header = 0;  ///< Bytes of key and length.
    std::uint64_t length = 0;
  };
  enum class Found : std::uint8_t { kField, kCut, kNone };

  /// Reads ahead until `size` bytes from `at` are available, or the file ends.
  Status Fill(std::size_t at, std::size_t size);
  /// Returns the field whose key begins the available bytes.
  Found FieldHere(Field& field) const;
  /// Reads the body of a field into body_; only a part of it if the file ends inside.
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
  std::int64_t offset_ = 0;  ///< Offset of head_'s first byte.
  bool ended_ = false;
  PageBuffer<char> body_;
  std::size_t body_size_ = 0;
};

}  // namespace headroom::xplane
