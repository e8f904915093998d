// One column of a table: appended to, then frozen into the order of the table.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/page_buffer.h"

namespace headroom {

/// A column under construction, which has pending values, or frozen.
///
/// Values are contiguous from the first on and never copied to grow. A column in which all values
/// are alike, as those are that a format does not know, is a number of rows until it is frozen.
template <typename T>
class Column {
 public:
  using value_type = T;

  /// REQUIRES: not frozen.
  void Append(T value) {
    if (size_ < rows_.size()) {
      rows_.data()[size_++] = value;
    } else if (rows_.size() == 0 && size_ > 0 && IsAlike(value)) {
      ++size_;
    } else {
      AppendBeyond(value);
    }
  }

  /// REQUIRES: not frozen.
  void AppendAll(std::span<const T> values) {
    assert(!frozen_);
    if (values.empty()) return;
    if (rows_.size() == 0) {
      if (size_ == 0) alike_ = values.front();
      if (std::all_of(values.begin(), values.end(), [&](const T& v) { return IsAlike(v); })) {
        size_ += values.size();
        return;
      }
      Store(size_ + values.size());
    }
    Reserve(size_ + values.size());
    std::memcpy(static_cast<void*>(rows_.data() + size_), values.data(), values.size_bytes());
    size_ += values.size();
  }

  /// A value before freezing.
  const T& Pending(std::size_t row) const {
    assert(row < size_);
    return rows_.size() == 0 ? alike_ : rows_.data()[row];
  }

  T& MutablePending(std::size_t row) {
    assert(row < size_);
    if (rows_.size() == 0) Store(size_);
    return rows_.data()[row];
  }

  /// Drops the rows for which `drop(row)` holds. REQUIRES: not frozen.
  template <typename Drop>
  void DropPending(Drop drop) {
    assert(!frozen_);
    std::size_t kept = 0;
    for (std::size_t row = 0; row < size_; ++row) {
      if (drop(row)) continue;
      if (rows_.size() > 0) rows_.data()[kept] = rows_.data()[row];
      ++kept;
    }
    size_ = kept;
  }

  /// Makes the column final as appended.
  void Freeze() {
    if (rows_.size() == 0) Store(size_);
    rows_.Resize(size_);
    frozen_ = true;
  }

  /// Makes the column final with row i taken from appended row order[i]; rows that `order` leaves
  /// out are dropped. The new rows take pages from `pool`, which gets the old ones.
  void Freeze(std::span<const std::uint32_t> order, PagePool& pool) {
    if (rows_.size() == 0) {
      size_ = order.size();
      return Freeze();
    }
    PageBuffer<T> rows(order.size(), pool);
    for (std::size_t i = 0; i < order.size(); ++i) rows.data()[i] = rows_.data()[order[i]];
    rows_.GiveTo(pool);
    Adopt(std::move(rows));
  }

  /// Replaces the contents with a ready array (a column that is computed, not read).
  void Adopt(PageBuffer<T> rows) {
    rows_ = std::move(rows);
    size_ = rows_.size();
    frozen_ = true;
  }

  /// Adds rows behind the last. REQUIRES: frozen.
  void Extend(std::span<const T> values) {
    assert(frozen_);
    if (values.empty()) return;
    rows_.Resize(size_ + values.size());
    std::memcpy(static_cast<void*>(rows_.data() + size_), values.data(), values.size_bytes());
    size_ += values.size();
  }

  std::size_t size() const { return size_; }
  /// REQUIRES: frozen, row < size().
  const T& operator[](std::size_t row) const {
    assert(frozen_ && row < size_);
    return rows_.data()[row];
  }
  /// For repairs at the end of loading. REQUIRES: frozen.
  T& Mutable(std::size_t row) {
    assert(frozen_ && row < size_);
    return rows_.data()[row];
  }
  /// Empty before freezing.
  std::span<const T> values() const { return frozen_ ? rows_.span() : std::span<const T>(); }
  std::size_t MemoryBytes() const { return rows_.size() * sizeof(T); }

 private:
  /// To the bit: 0.0 is not -0.0, and NaN is itself.
  bool IsAlike(const T& value) const {
    if constexpr (std::is_floating_point_v<T>) {
      using Bits =
          std::conditional_t<sizeof(T) == sizeof(std::uint64_t), std::uint64_t, std::uint32_t>;
      return std::bit_cast<Bits>(value) == std::bit_cast<Bits>(alike_);
    } else {
      return value == alike_;
    }
  }

  // What is rare stays out of the callers' loops.
  [[gnu::noinline]] void AppendBeyond(T value) {
    assert(!frozen_);
    if (size_ == 0) {
      alike_ = value;
      size_ = 1;
      return;
    }
    if (rows_.size() == 0) Store(size_ + 1);
    Reserve(size_ + 1);
    rows_.data()[size_++] = value;
  }

  /// Writes out what was a number of rows, with room for `rows`.
  [[gnu::noinline]] void Store(std::size_t rows) {
    Reserve(rows);
    std::fill_n(rows_.data(), size_, alike_);
  }

  /// Room is address space: memory is what values have touched.
  void Reserve(std::size_t rows) {
    constexpr std::size_t kMin = (std::size_t{64} << 10) / sizeof(T);
    const std::size_t room = rows_.size();
    if (rows > room) rows_.Resize(std::max({rows, kMin, room + room / 2}));
  }

  PageBuffer<T> rows_;  ///< Longer than the column before it is frozen. Empty: all are alike.
  std::size_t size_ = 0;
  T alike_ = T();
  bool frozen_ = false;
};

}  // namespace headroom
