#include "base/page_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

namespace headroom {
namespace {

/// Rounds up to whole pages, because the system maps only those.
std::size_t InPages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

/// Maps memory that begins at a huge page boundary. Only whole huge pages work, and older kernels
/// place mappings anywhere. Returns null if the system has no memory left.
void* MapAligned(std::size_t bytes, int protection) {
  const std::size_t wanted = InPages(bytes), mapped = wanted + kHugePageBytes;
  void* const address = mmap(nullptr, mapped, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(address);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(begin) % kHugePageBytes;
  const std::size_t before = over == 0 ? 0 : kHugePageBytes - over;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + wanted, mapped - before - wanted);
  return begin + before;
}

/// Gives only advice: without huge pages, the system uses small ones.
void AskForHugePages([[maybe_unused]] void* address, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  madvise(address, bytes, MADV_HUGEPAGE);
#endif
}

}  // namespace

void* MapPages(std::size_t bytes) {
  constexpr int kReadWrite = PROT_READ | PROT_WRITE;
  if (bytes < kHugePageBytes) {
    void* const address = mmap(nullptr, bytes, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throw std::bad_alloc();
    return address;
  }
  void* const address = MapAligned(bytes, kReadWrite);
  if (address == nullptr) throw std::bad_alloc();
  AskForHugePages(address, bytes);
  return address;
}

void* RemapPages(void* address, std::size_t bytes, std::size_t new_bytes) {
  const std::size_t now = InPages(bytes), wanted = InPages(new_bytes);
  if (now == wanted) return address;
#ifndef __linux__
  void* const copy = MapPages(wanted);
  std::memcpy(copy, address, std::min(now, wanted));
  munmap(address, now);
  return copy;
#else
  if (wanted < kHugePageBytes) {
    void* const moved = mremap(address, now, wanted, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) throw std::bad_alloc();
    return moved;
  }
  void* moved = now < kHugePageBytes ? MAP_FAILED : mremap(address, now, wanted, 0);
  if (moved == MAP_FAILED) {
    void* const room = MapAligned(wanted, PROT_NONE);
    if (room == nullptr) throw std::bad_alloc();
    moved = mremap(address, now, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, room);
    if (moved == MAP_FAILED) {
      munmap(room, wanted);
      throw std::bad_alloc();
    }
  }
  AskForHugePages(moved, wanted);
  return moved;
#endif
}

void UnmapPages(void* address, std::size_t bytes) { munmap(address, bytes); }

PagePool::~PagePool() {
  for (const Mapping& mapping : free_) UnmapPages(mapping.address, mapping.bytes);
}

void* PagePool::Take(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    // Takes only mappings that are long enough, because growth would add untouched pages.
    const auto fits = std::find_if(free_.rbegin(), free_.rend(), [&](const Mapping& mapping) {
      return InPages(mapping.bytes) >= InPages(bytes);
    });
    if (fits != free_.rend()) {
      void* const address = RemapPages(fits->address, fits->bytes, bytes);
      free_.erase(std::next(fits).base());
      return address;
    }
  }
  return MapPages(bytes);
}

void PagePool::Give(void* address, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  free_.push_back({address, bytes});
}

}  // namespace headroom
