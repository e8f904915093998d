// One column of a table: appended to in pages, then frozen into one contiguous array.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/page_buffer.h"

namespace headroom {

/// A column under construction, which has pending values, or frozen.
template <typename T>
class Column {
 public:
  using value_type = T;
  /// Rows of a page.
  static constexpr std::size_t kPageRows = std::size_t{1} << 16;

  void Append(T value) { AppendAll({&value, 1}); }

  /// REQUIRES: not frozen.
  void AppendAll(std::span<const T> values) {
    assert(frozen_.size() == 0);
    while (!values.empty()) {
      const std::size_t used = size_ % kPageRows;
      if (used == 0) AddPage();
      const std::size_t n = std::min(kPageRows - used, values.size());
      std::memcpy(static_cast<void*>(pages_.back() + used), values.data(), n * sizeof(T));
      values = values.subspan(n);
      size_ += n;
    }
  }

  /// A value before freezing.
  const T& Pending(std::size_t row) const { return pages_[row / kPageRows][row % kPageRows]; }

  T& MutablePending(std::size_t row) { return pages_[row / kPageRows][row % kPageRows]; }

  /// Makes the column contiguous as appended. Frees the pages.
  void Freeze() {
    PageBuffer<T> rows(size_);
    for (std::size_t page = 0, at = 0; at < size_; ++page, at += kPageRows) {
      std::memcpy(static_cast<void*>(rows.data() + at), pages_[page],
                  std::min(kPageRows, size_ - at) * sizeof(T));
    }
    Adopt(std::move(rows));
  }

  /// Makes the column contiguous with row i taken from appended row order[i]; rows that `order`
  /// leaves out are dropped. Frees the pages.
  void Freeze(std::span<const std::uint32_t> order) {
    PageBuffer<T> rows(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) rows.data()[i] = Pending(order[i]);
    Adopt(std::move(rows));
  }

  /// Replaces the contents with a ready array (a column that is computed, not read).
  void Adopt(PageBuffer<T> rows) {
    size_ = rows.size();
    pages_.clear();
    blocks_.clear();
    frozen_ = std::move(rows);
  }

  std::size_t size() const { return size_; }
  /// REQUIRES: frozen, row < size().
  const T& operator[](std::size_t row) const {
    assert(row < frozen_.size());
    return frozen_.data()[row];
  }
  /// For repairs at the end of loading. REQUIRES: frozen.
  T& Mutable(std::size_t row) { return frozen_.data()[row]; }
  std::span<const T> values() const { return frozen_.span(); }
  std::size_t MemoryBytes() const {
    return frozen_.size() * sizeof(T) + pages_.size() * kPageRows * sizeof(T);
  }

 private:
  /// The first pages are mapped one by one, so that small tables stay small; later ones by the huge
  /// page.
  void AddPage() {
    constexpr std::size_t kSinglePages = 4;
    constexpr std::size_t kBlockPages =
        std::max<std::size_t>(1, kHugePageBytes / (kPageRows * sizeof(T)));
    const std::size_t page = pages_.size();
    const bool alone = page < kSinglePages;
    const std::size_t in_block = alone ? 0 : (page - kSinglePages) % kBlockPages;
    if (in_block == 0) blocks_.emplace_back(alone ? kPageRows : kBlockPages * kPageRows);
    pages_.push_back(blocks_.back().data() + in_block * kPageRows);
  }

  std::vector<T*> pages_;
  std::vector<PageBuffer<T>> blocks_;  ///< What pages_ point into.
  PageBuffer<T> frozen_;
  std::size_t size_ = 0;
};

}  // namespace headroom
