// Strong row ids: the compiler rejects an id of the wrong table.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace headroom {

/// Index of a row in the table that `Tag` names. The all-ones value means "none".
template <typename Tag>
class StrongId {
 public:
  static constexpr std::uint32_t kNoneValue = 0xFFFFFFFFu;

  constexpr StrongId() = default;
  constexpr explicit StrongId(std::uint32_t index) : index_(index) {}
  constexpr explicit StrongId(std::size_t index) : index_(static_cast<std::uint32_t>(index)) {}
  static constexpr StrongId None() { return StrongId(); }

  constexpr bool valid() const { return index_ != kNoneValue; }
  constexpr std::uint32_t index() const { return index_; }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  std::uint32_t index_ = kNoneValue;
};

using StringId = StrongId<struct StringTag>;        ///< Entry of the StringPool.
using ProcessId = StrongId<struct ProcessTag>;      ///< Row of ProcessTable.
using ThreadId = StrongId<struct ThreadTag>;        ///< Row of ThreadTable.
using DeviceId = StrongId<struct DeviceTag>;        ///< Row of DeviceTable.
using StreamId = StrongId<struct StreamTag>;        ///< Row of StreamTable.
using HostEventId = StrongId<struct HostEventTag>;  ///< Row of HostEventTable.
using GpuTaskId = StrongId<struct GpuTaskTag>;      ///< Row of GpuTaskTable.

}  // namespace headroom

template <typename Tag>
struct std::hash<headroom::StrongId<Tag>> {
  std::size_t operator()(headroom::StrongId<Tag> id) const noexcept { return id.index(); }
};
