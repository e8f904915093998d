#include "capture/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

namespace headroom {
namespace {

/// Returns true if `count` elements of `stride` bytes, starting at `offset`, fit into `bytes`.
bool Fits(std::uint64_t offset, std::uint64_t count, std::uint64_t stride, std::uint64_t bytes) {
  return offset <= bytes && (stride == 0 || count <= (bytes - offset) / stride);
}

bool Plausible(const headroom_shared& layout, std::uint64_t bytes) {
  return layout.magic == HEADROOM_SHARED_MAGIC && layout.bytes == bytes && layout.rings <= 65536 &&
         std::has_single_bit(layout.ring_records) && layout.ring_records >= 16 &&
         layout.ring_stride % 64 == 0 && layout.rings_offset % 64 == 0 &&
         layout.names_offset % 8 == 0 &&
         layout.ring_stride >= HEADROOM_RING_HEADER_BYTES +
                                   std::uint64_t{layout.ring_records} * sizeof(headroom_record) &&
         Fits(layout.names_offset, layout.names_capacity, sizeof(headroom_name), bytes) &&
         Fits(layout.text_offset, layout.text_capacity, 1, bytes) &&
         Fits(layout.rings_offset, layout.rings, layout.ring_stride, bytes);
}

}  // namespace

Result<SharedMemory> SharedMemory::Map(int memory) {
  struct stat status {};
  headroom_shared layout{};
  // Without the seal, a process that shrinks its memory would crash the recorder. Reading a file
  // that supports no seals, such as a pipe, might block.
  const int seals = fcntl(memory, F_GET_SEALS);
  const bool sealed = seals != -1 && (seals & F_SEAL_SHRINK) != 0;
  const bool read = sealed && fstat(memory, &status) == 0 &&
                    pread(memory, &layout, sizeof layout, 0) == static_cast<ssize_t>(sizeof layout);
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  void* base = MAP_FAILED;
  const bool was_mapped =
      read && layout.version == HEADROOM_SHARED_VERSION && Plausible(layout, bytes);
  if (was_mapped) base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  const int map_error = errno;
  close(memory);
  if (base != MAP_FAILED) return SharedMemory(static_cast<char*>(base), bytes, layout);
  if (was_mapped) {
    return Status::Environment(
        fmt::format("cannot map the {} MB of memory that its timers share: {}; raise `ulimit -v`",
                    bytes / 1'000'000, std::strerror(map_error)));
  }
  if (read && layout.magic == HEADROOM_SHARED_MAGIC && layout.version != HEADROOM_SHARED_VERSION) {
    return Status::BadInput(fmt::format(
        "its timers use format {}, but this recorder reads format {}; build both from one version",
        layout.version, HEADROOM_SHARED_VERSION));
  }
  return Status::BadInput("the memory that it shares is not in Headroom's format");
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), layout_(other.layout_) {}

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

headroom_ring* SharedMemory::ring(std::uint32_t i) const {
  return reinterpret_cast<headroom_ring*>(base_ + layout_.rings_offset + i * layout_.ring_stride);
}

const headroom_record* SharedMemory::records(std::uint32_t i) const {
  return headroom_records_of(ring(i));
}

std::string_view SharedMemory::Name(std::uint32_t id) const {
  const auto* shared = reinterpret_cast<const headroom_shared*>(base_);
  if (id == 0 || id >= layout_.names_capacity ||
      id >= __atomic_load_n(&shared->names, __ATOMIC_ACQUIRE)) {
    return {};
  }
  headroom_name name;
  std::memcpy(&name, base_ + layout_.names_offset + id * sizeof name, sizeof name);
  if (!Fits(name.offset, name.length, 1, layout_.text_capacity)) return {};
  return {base_ + layout_.text_offset + name.offset, name.length};
}

SharedMemory::Drops SharedMemory::drops() const {
  const auto* shared = reinterpret_cast<const headroom_shared*>(base_);
  const auto count = [](const std::uint64_t& field) {
    return __atomic_load_n(&field, __ATOMIC_RELAXED);
  };
  return {.threads = count(shared->dropped_threads),
          .depth = count(shared->dropped_depth),
          .names = count(shared->dropped_names),
          .unmatched = count(shared->unmatched)};
}

std::int32_t SharedMemory::HelperOf() const {
  const auto* shared = reinterpret_cast<const headroom_shared*>(base_);
  return static_cast<std::int32_t>(__atomic_load_n(&shared->helper_of, __ATOMIC_ACQUIRE));
}

}  // namespace headroom
