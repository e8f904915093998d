// Writes protobuf's wire format: varints, fixed 64-bit words, and nested messages.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace headroom {

/// Encoding of a field's value: the low three bits of its key.
enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

inline constexpr std::size_t kMaxVarintBytes = 10;

/// Writes a varint and returns the position after it. REQUIRES: kMaxVarintBytes of room.
inline char* PutVarint(char* to, std::uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

/// Returns the key of a field: its number and the encoding of its value.
template <typename Field>
constexpr std::uint32_t FieldKey(Field field, WireType type) {
  return static_cast<std::uint32_t>(field) << 3 | static_cast<std::uint32_t>(type);
}

/// Appends fields to a string. A field is a number or an enumerator.
class ProtobufWriter {
 public:
  explicit ProtobufWriter(std::string& out) : out_(out) {}

  /// Writes an integer, an enumerator or a bool. Negative values take 10 bytes, as for int32 and
  /// int64.
  template <typename Field, typename Value>
  void Varint(Field field, Value value) {
    static_assert(std::is_integral_v<Value> || std::is_enum_v<Value>);
    char bytes[2 * kMaxVarintBytes];
    char* end = PutVarint(bytes, FieldKey(field, WireType::kVarint));
    end = PutVarint(end, static_cast<std::uint64_t>(value));
    out_.append(bytes, end);
  }

  template <typename Field>
  void Double(Field field, double value) {
    static_assert(std::endian::native == std::endian::little);
    char bytes[kMaxVarintBytes + sizeof value];
    char* end = PutVarint(bytes, FieldKey(field, WireType::kFixed64));
    std::memcpy(end, &value, sizeof value);
    out_.append(bytes, end + sizeof value);
  }

  template <typename Field>
  void Fixed64(Field field, std::uint64_t value) {
    Double(field, std::bit_cast<double>(value));
  }

  template <typename Field>
  void Bytes(Field field, std::string_view value) {
    char bytes[2 * kMaxVarintBytes];
    char* end = PutVarint(bytes, FieldKey(field, WireType::kBytes));
    end = PutVarint(end, value.size());
    out_.append(bytes, end).append(value);
  }

  /// Writes a message whose content `fill()` writes with this writer. Reserves one byte for the
  /// length, because most messages are short, and moves longer ones.
  template <typename Field, typename Fill>
  void Message(Field field, Fill&& fill) {
    char bytes[kMaxVarintBytes];
    out_.append(bytes, PutVarint(bytes, FieldKey(field, WireType::kBytes)));
    const std::size_t length_at = out_.size();
    out_.push_back(0);
    std::forward<Fill>(fill)();
    const std::size_t length = out_.size() - length_at - 1;
    const auto length_bytes = static_cast<std::size_t>(PutVarint(bytes, length) - bytes);
    if (length_bytes > 1) out_.insert(length_at + 1, length_bytes - 1, '\0');
    std::memcpy(out_.data() + length_at, bytes, length_bytes);
  }

 private:
  std::string& out_;
};

}  // namespace headroom
