// Kinds of memory in Nsight Systems' numbering.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headroom::nsight {

inline constexpr std::array<std::string_view, 7> kMemoryKinds = {
    "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"};
inline constexpr std::int64_t kFirstDeviceKind = 2;  ///< Lower kinds are host memory.

constexpr std::string_view MemoryKind(std::int64_t kind) {
  const bool known = kind >= 0 && kind < static_cast<std::int64_t>(kMemoryKinds.size());
  return known ? kMemoryKinds[static_cast<std::size_t>(kind)] : "Unknown";
}

}  // namespace headroom::nsight
