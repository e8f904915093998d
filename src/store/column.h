// A table column: first appended to, then frozen into the order of the table.
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

/// A column that is either under construction, with pending values, or frozen.
///
/// Values are contiguous and never copied to grow. Until Freeze(), a column of identical values,
/// such as one that a format does not fill, stores only one value and the row count.
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

  /// Returns a value before freezing.
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

  /// Freezes the column in the order of appending.
  void Freeze() {
    if (rows_.size() == 0) Store(size_);
    rows_.Resize(size_);
    frozen_ = true;
  }

  /// Freezes the column with row i taken from appended row order[i]. Drops rows that `order` omits.
  /// The new rows take pages from `pool` and return the old pages to it.
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

  /// Replaces the contents with a computed array, in place of appended values.
  void Adopt(PageBuffer<T> rows) {
    rows_ = std::move(rows);
    size_ = rows_.size();
    frozen_ = true;
  }

  /// Appends rows. REQUIRES: frozen.
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
  /// Gives write access for repairs at the end of loading. REQUIRES: frozen.
  T& Mutable(std::size_t row) {
    assert(frozen_ && row < size_);
    return rows_.data()[row];
  }
  /// Returns all values; empty before freezing.
  std::span<const T> values() const { return frozen_ ? rows_.span() : std::span<const T>(); }
  std::size_t MemoryBytes() const { return rows_.size() * sizeof(T); }

 private:
  /// Compares bitwise: 0.0 differs from -0.0, and NaN equals itself.
  bool IsAlike(const T& value) const {
    if constexpr (std::is_floating_point_v<T>) {
      using Bits =
          std::conditional_t<sizeof(T) == sizeof(std::uint64_t), std::uint64_t, std::uint32_t>;
      return std::bit_cast<Bits>(value) == std::bit_cast<Bits>(alike_);
    } else {
      return value == alike_;
    }
  }

  // Not inlined, because these cases are rare and would enlarge the callers' loops.
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

  /// Expands the row count into stored values, with room for `rows`.
  [[gnu::noinline]] void Store(std::size_t rows) {
    Reserve(rows);
    std::fill_n(rows_.data(), size_, alike_);
  }

  /// Reserves address space. Pages use memory only once values touch them.
  void Reserve(std::size_t rows) {
    constexpr std::size_t kMin = (std::size_t{64} << 10) / sizeof(T);
    const std::size_t room = rows_.size();
    if (rows > room) rows_.Resize(std::max({rows, kMin, room + room / 2}));
  }

  /// This buffer is longer than the column until Freeze(), and empty while all values are
  /// identical.
  PageBuffer<T> rows_;
  std::size_t size_ = 0;
  T alike_ = T();
  bool frozen_ = false;
};

}  // namespace headroom
