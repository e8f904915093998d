// The memory of a measured process, seen from outside (headroom/detail/shared.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "headroom/detail/shared.h"

namespace headroom {

/// Maps what a process shared. The process may do with its memory what it likes at any time, so
/// whatever is read from it is checked where it is used; offsets are checked once and kept here.
class SharedMemory {
 public:
  /// @param memory  the descriptor that the process sent; closed here
  /// Fails where it is not what this version knows.
  static Result<SharedMemory> Map(int memory);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::uint32_t rings() const { return layout_.rings; }
  std::uint32_t ring_records() const { return layout_.ring_records; }
  std::uint32_t clock() const { return layout_.clock; }
  headroom_ring* ring(std::uint32_t i) const;
  const headroom_record* records(std::uint32_t i) const;
  /// Empty where there is no such name.
  std::string_view Name(std::uint32_t id) const;

  /// What the process counts as not collected; the drops of rings are in the rings.
  struct Drops {
    std::uint64_t threads = 0, depth = 0, names = 0, unmatched = 0;
  };
  Drops drops() const;
  /// The process whose file its events belong into, as the process sees it; 0: it has its own.
  std::int32_t HelperOf() const;
  /// The process itself, as it sees it.
  std::int32_t pid() const { return layout_.pid; }

 private:
  SharedMemory(char* base, std::uint64_t bytes, const headroom_shared& layout)
      : base_(base), bytes_(bytes), layout_(layout) {}

  char* base_;
  std::uint64_t bytes_;
  headroom_shared layout_;  ///< As checked; the process's own may change.
};

}  // namespace headroom
