#include "base/page_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace headroom {

void* MapPages(std::size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  // Advice only: where the system has no huge pages, small ones serve.
  if (bytes >= kHugePageBytes) madvise(address, bytes, MADV_HUGEPAGE);
  return address;
}

void UnmapPages(void* address, std::size_t bytes) { munmap(address, bytes); }

}  // namespace headroom
