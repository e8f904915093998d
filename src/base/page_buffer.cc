#include "base/page_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace headroom {

namespace {

/// From here on a buffer asks for huge pages: one fault clears 2 MiB instead of 4 KiB. Below, the
/// unused rest of a huge page would cost more memory than the faults cost time.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

}  // namespace

void* MapPages(std::size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  // Advice only: where the system has no huge pages, small ones serve.
  if (bytes >= kHugePageBytes) madvise(address, bytes, MADV_HUGEPAGE);
  return address;
}

void UnmapPages(void* address, std::size_t bytes) { munmap(address, bytes); }

}  // namespace headroom
