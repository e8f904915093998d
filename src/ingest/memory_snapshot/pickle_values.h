// The values of a pickle as plain data: numbers, text, lists and dictionaries. Each value takes
// eight bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"

namespace headroom::memory_snapshot {

/// One value. A list or dictionary is represented by the number of its container in PickleValues.
class Value {
 public:
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInteger,
    kReal,  ///< Its value is not kept.
    kText,
    kOther,  ///< Bytes, sets, and integers beyond 60 bits; their values are not kept.
    kList,   ///< A list or a tuple.
    kDict,
  };

  Value() = default;
  static Value Of(Kind kind, std::int64_t payload = 0) { return Value(kind, payload); }
  /// Returns a value of kind kOther if the number does not fit.
  static Value Integer(std::int64_t number) {
    const Value value(Kind::kInteger, number);
    return value.payload() == number ? value : Value(Kind::kOther, 0);
  }
  static Value Text(StringId id) {
    return Value(Kind::kText, static_cast<std::int64_t>(id.index()));
  }

  Kind kind() const { return static_cast<Kind>(bits_ & kKindMask); }
  bool is(Kind wanted) const { return kind() == wanted; }
  /// Returns the number of kInteger and kBool; for other kinds the index of the text or container.
  std::int64_t payload() const { return static_cast<std::int64_t>(bits_) >> kKindBits; }
  bool operator==(const Value&) const = default;

 private:
  static constexpr int kKindBits = 4;
  static constexpr std::uint64_t kKindMask = (1u << kKindBits) - 1;

  Value(Kind kind, std::int64_t payload)
      : bits_(static_cast<std::uint64_t>(payload) << kKindBits | static_cast<std::uint64_t>(kind)) {
  }

  std::uint64_t bits_ = 0;
};

/// All lists and dictionaries of a pickle. A container may occur several times, or inside itself,
/// so callers must bound their walks.
class PickleValues {
 public:
  StringPool strings;

  std::string_view TextOf(Value value) const {
    return value.is(Value::Kind::kText)
               ? strings.Get(StringId(static_cast<std::size_t>(value.payload())))
               : std::string_view();
  }
  Value NewContainer(Value::Kind kind) {
    containers_.push_back({});
    return Value::Of(kind, static_cast<std::int64_t>(containers_.size() - 1));
  }
  /// Appends items to a list, or alternating keys and values to a dictionary. Does nothing for
  /// other values, or for a container that became a record.
  void Append(Value container, std::span<const Value> items);
  /// Replaces the dictionary with a record that the caller keeps.
  void BecomeRecord(Value container, std::uint32_t record);
  bool IsRecord(Value value) const { return IsContainer(value) && At(value).first == kRecord; }
  /// Requires IsRecord(value).
  std::uint32_t RecordOf(Value value) const { return At(value).last; }
  bool IsEmpty(Value container) const {
    return IsContainer(container) && At(container).first == kNone;
  }

  /// Calls f(items) for each run of items, in order, until it returns false. Items of a dictionary
  /// are alternating keys and values. Does nothing for a record, or for a value that is not a
  /// container.
  template <typename F>
  void ForEachRun(Value container, F&& f) const {
    if (!IsContainer(container) || IsRecord(container)) return;
    for (std::uint32_t c = At(container).first; c != kNone; c = chunks_[c].next) {
      if (!f(std::span(items_).subspan(chunks_[c].begin, chunks_[c].count))) return;
    }
  }
  /// Returns the value of the last entry with this key; a value of kind kNone if there is no such
  /// entry.
  Value Find(Value dict, std::string_view key) const;
  std::size_t CountOf(Value container) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kRecord = UINT32_MAX - 1;

  struct Container {
    std::uint32_t first = kNone,
                  last = kNone;  ///< First and last chunk; for a record, kRecord and its number.
  };
  struct Chunk {
    std::uint64_t begin;
    std::uint32_t count, next;
  };

  static bool IsContainer(Value value) {
    return value.is(Value::Kind::kList) || value.is(Value::Kind::kDict);
  }
  const Container& At(Value value) const {
    return containers_[static_cast<std::size_t>(value.payload())];
  }

  std::vector<Container> containers_;
  std::vector<Chunk> chunks_;
  std::vector<Value> items_;
};

}  // namespace headroom::memory_snapshot
