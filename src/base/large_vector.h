// std::vector for millions of rows, in huge pages.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "base/page_buffer.h"

namespace headroom {

/// Allocates blocks of at least a huge page from the operating system, and smaller ones from the
/// heap. A gigabyte of trace would otherwise touch 100,000 small pages. That costs half as much as
/// parsing the trace.
template <typename T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <typename U>
  LargeAllocator(const LargeAllocator<U>&) {}  // NOLINT: allocators require implicit conversions.

  T* allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(-1) / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = n * sizeof(T);
    return static_cast<T*>(bytes >= kHugePageBytes ? MapPages(bytes) : ::operator new(bytes));
  }
  void deallocate(T* address, std::size_t n) {
    const std::size_t bytes = n * sizeof(T);
    if (bytes >= kHugePageBytes) {
      UnmapPages(address, bytes);
    } else {
      ::operator delete(address);
    }
  }
  bool operator==(const LargeAllocator&) const { return true; }
};

template <typename T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

}  // namespace headroom
