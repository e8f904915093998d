// The recorder's view of the memory that a measured process shares (headroom/detail/shared.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "headroom/detail/shared.h"

namespace headroom {

/// Maps the memory that a process shares. The process can change its contents at any time, so each
/// value is checked where it is used. Offsets are checked once and copied.
class SharedMemory {
 public:
  /// Fails with kBadInput if this version cannot read the memory, and with kEnvironment if the
  /// memory cannot be mapped.
  ///
  /// @param memory  descriptor that the process sent; closed by this call
  static Result<SharedMemory> Map(int memory);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::uint32_t rings() const { return layout_.rings; }
  std::uint32_t ring_records() const { return layout_.ring_records; }
  std::uint32_t clock() const { return layout_.clock; }
  headroom_ring* ring(std::uint32_t i) const;
  const headroom_record* records(std::uint32_t i) const;
  /// Returns the name with this id; empty if the id is unknown.
  std::string_view Name(std::uint32_t id) const;

  /// Losses that the process counts, except the events that each ring counts as dropped.
  struct Drops {
    std::uint64_t threads = 0, depth = 0, names = 0, unmatched = 0;
  };
  Drops drops() const;
  /// Pid of the process that this helper works for, in the helper's PID namespace. Events of a
  /// helper go to that process's file. 0: not a helper.
  std::int32_t HelperOf() const;
  /// Pid of the process in its own PID namespace.
  std::int32_t pid() const { return layout_.pid; }

 private:
  SharedMemory(char* base, std::uint64_t bytes, const headroom_shared& layout)
      : base_(base), bytes_(bytes), layout_(layout) {}

  char* base_;
  std::uint64_t bytes_;
  headroom_shared layout_;  ///< Checked copy: the process can change the original.
};

}  // namespace headroom
