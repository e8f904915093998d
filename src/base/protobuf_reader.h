// Reads protobuf's wire format in place. Damage ends a message early and sets a flag. Never throws,
// and never reads beyond the text.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/protobuf_writer.h"

namespace headroom {

/// Reads a varint at `at` and moves `at` past it. Returns false and leaves `at` unchanged if the
/// varint does not end within ten bytes or before `end`.
inline bool GetVarint(const char*& at, const char* end, std::uint64_t& value) {
  std::uint64_t result = 0;
  const char* p = at;
  for (int shift = 0; shift < 64 && p != end; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(*p++);
    result |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) {
      at = p;
      value = result;
      return true;
    }
  }
  return false;
}

/// Iterates over the fields of one message.
///
///   for (ProtobufReader reader(text); reader.Next();) switch (reader.field()) ...
class ProtobufReader {
 public:
  explicit ProtobufReader(std::string_view message)
      : at_(message.data()), end_(message.data() + message.size()) {}

  /// Moves to the next field. Returns false at the end or at damage.
  bool Next() {
    if (at_ == end_) return false;
    std::uint64_t key = 0;
    if (!GetVarint(at_, end_, key) || key < 8 || key > UINT32_MAX) return Damage();
    field_ = static_cast<std::uint32_t>(key >> 3);
    type_ = static_cast<WireType>(key & 7);
    switch (type_) {
      case WireType::kVarint:
        return GetVarint(at_, end_, value_) || Damage();
      case WireType::kFixed64:
        return Fixed(8);
      case WireType::kFixed32:
        return Fixed(4);
      case WireType::kBytes: {
        std::uint64_t length = 0;
        if (!GetVarint(at_, end_, length) || length > static_cast<std::uint64_t>(end_ - at_))
          return Damage();
        bytes_ = {at_, static_cast<std::size_t>(length)};
        at_ += length;
        return true;
      }
      default:
        return Damage();
    }
  }

  std::uint32_t field() const { return field_; }
  /// Returns the field as an enumerator of its message.
  template <typename Field>
  Field as() const {
    return static_cast<Field>(field_);
  }
  WireType type() const { return type_; }

  /// Returns the value as an integer; 0 for text.
  std::uint64_t integer() const { return type_ == WireType::kBytes ? 0 : value_; }
  std::int64_t signed_integer() const { return static_cast<std::int64_t>(integer()); }
  /// Returns the value of an int32 field, which tools write with 32 or 64 bits.
  std::int32_t integer32() const { return static_cast<std::int32_t>(integer()); }
  /// Returns the value as a double; 0 for other types.
  double number() const { return type_ == WireType::kFixed64 ? std::bit_cast<double>(value_) : 0; }
  /// Returns the value as text or as a message; empty for a number.
  std::string_view bytes() const { return type_ == WireType::kBytes ? bytes_ : std::string_view(); }

  /// Returns true if damage ended the message early. Valid once Next() returned false.
  bool damaged() const { return damaged_; }

 private:
  bool Damage() {
    damaged_ = true;
    return false;
  }
  bool Fixed(int size) {
    if (end_ - at_ < size) return Damage();
    static_assert(std::endian::native == std::endian::little);
    value_ = 0;
    std::memcpy(&value_, at_, static_cast<std::size_t>(size));
    at_ += size;
    return true;
  }

  const char* at_;
  const char* end_;
  std::uint64_t value_ = 0;
  std::string_view bytes_;
  std::uint32_t field_ = 0;
  WireType type_ = WireType::kVarint;
  bool damaged_ = false;
};

/// Calls `visit(value)` for each element of a repeated integer field, packed or not.
template <typename Visit>
void ForEachInteger(const ProtobufReader& reader, Visit&& visit) {
  if (reader.type() != WireType::kBytes) return visit(reader.integer());
  const std::string_view packed = reader.bytes();
  const char* at = packed.data();
  for (std::uint64_t value = 0; GetVarint(at, packed.data() + packed.size(), value);) visit(value);
}

}  // namespace headroom
