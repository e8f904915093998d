// The recorder's view of a measured process's memory (headroom/detail/shared.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "headroom/detail/shared.h"

namespace headroom {

/// Maps the memory that a process shared. The process can change it at any time, so every value is
/// checked where it is used. Offsets are checked once and kept here.
class SharedMemory {
 public:
  /// @param memory  the descriptor that the process sent; closed here
  /// Fails if the format is unknown to this version.
  static Result<SharedMemory> Map(int memory);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::uint32_t rings() const { return layout_.rings; }
  std::uint32_t ring_records() const { return layout_.ring_records; }
  std::uint32_t clock() const { return layout_.clock; }
  headroom_ring* ring(std::uint32_t i) const;
  const headroom_record* records(std::uint32_t i) const;
  /// Returns the text of a name; empty if there is no such name.
  std::string_view Name(std::uint32_t id) const;

  /// Losses that the process counts. The rings count their own drops.
  struct Drops {
    std::uint64_t threads = 0, depth = 0, names = 0, unmatched = 0;
  };
  Drops drops() const;
  /// Process whose file receives its events, with the pid that the process sees; 0: it has its own
  /// file.
  std::int32_t HelperOf() const;
  /// The process's own pid, as it sees it.
  std::int32_t pid() const { return layout_.pid; }

 private:
  SharedMemory(char* base, std::uint64_t bytes, const headroom_shared& layout)
      : base_(base), bytes_(bytes), layout_(layout) {}

  char* base_;
  std::uint64_t bytes_;
  headroom_shared layout_;  ///< Checked copy; the process's own may change.
};

}  // namespace headroom
