// What a pickle holds, as plain data: numbers, text, lists and dictionaries. Eight bytes a value.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"

namespace headroom::memory_snapshot {

/// One value. Lists and dictionaries are numbers of containers, which PickleValues holds.
class Value {
 public:
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInteger,
    kReal,  ///< Which one is not kept.
    kText,
    kOther,  ///< Bytes, sets, and whole numbers beyond 60 bits: not kept.
    kList,   ///< Or tuple.
    kDict,
  };

  Value() = default;
  static Value Of(Kind kind, std::int64_t payload = 0) { return Value(kind, payload); }
  /// kOther where it does not fit.
  static Value Integer(std::int64_t number) {
    const Value value(Kind::kInteger, number);
    return value.payload() == number ? value : Value(Kind::kOther, 0);
  }
  static Value Text(StringId id) {
    return Value(Kind::kText, static_cast<std::int64_t>(id.index()));
  }

  Kind kind() const { return static_cast<Kind>(bits_ & kKindMask); }
  bool is(Kind wanted) const { return kind() == wanted; }
  /// The number of kInteger and kBool; else the index of what it stands for.
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

/// All lists and dictionaries of a pickle. A pickle may refer to one several times, and to itself:
/// whoever walks it bounds how far.
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
  /// Appends items to a list, or keys and values in turn to a dictionary; nothing to another value,
  /// nor to a container that became a record.
  void Append(Value container, std::span<const Value> items);
  /// From now on, the dictionary stands for a record that is kept elsewhere.
  void BecomeRecord(Value container, std::uint32_t record);
  bool IsRecord(Value value) const { return IsContainer(value) && At(value).first == kRecord; }
  /// REQUIRES: IsRecord(value).
  std::uint32_t RecordOf(Value value) const { return At(value).last; }
  bool IsEmpty(Value container) const {
    return IsContainer(container) && At(container).first == kNone;
  }

  /// Calls f(items) for each run of items, in order, until it returns false: of a dictionary keys
  /// and values in turn. Nothing of what is no container, or a record.
  template <typename F>
  void ForEachRun(Value container, F&& f) const {
    if (!IsContainer(container) || IsRecord(container)) return;
    for (std::uint32_t c = At(container).first; c != kNone; c = chunks_[c].next) {
      if (!f(std::span(items_).subspan(chunks_[c].begin, chunks_[c].count))) return;
    }
  }
  /// The value of the last such key; kNone where there is none.
  Value Find(Value dict, std::string_view key) const;
  std::size_t CountOf(Value container) const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::uint32_t kRecord = UINT32_MAX - 1;

  struct Container {
    std::uint32_t first = kNone, last = kNone;  ///< Chunks; of a record, kRecord and its number.
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
