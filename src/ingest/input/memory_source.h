// A ByteSource over bytes in memory: for tests and fuzzing.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ingest/input/byte_source.h"

namespace headroom {

class MemoryByteSource final : public ByteSource {
 public:
  /// If `damage` is not empty, the end of the bytes acts as the point where a decompressor gave up.
  explicit MemoryByteSource(std::string bytes, std::string damage = {})
      : bytes_(std::move(bytes)), damage_(std::move(damage)) {}

  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t n = std::min(out.size(), bytes_.size() - at_);
    if (n > 0) std::memcpy(out.data(), bytes_.data() + at_, n);
    at_ += n;
    return n;
  }
  std::string_view damage() const override {
    return at_ == bytes_.size() ? damage_ : std::string_view();
  }
  std::int64_t file_bytes_read() const override { return static_cast<std::int64_t>(at_); }
  std::int64_t file_bytes() const override { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::string bytes_;
  std::string damage_;
  std::size_t at_ = 0;
};

}  // namespace headroom
