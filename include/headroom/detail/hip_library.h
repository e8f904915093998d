// File names of the HIP runtime.
#pragma once

namespace headroom {
inline namespace timer_v1 {
namespace detail {

/// ROCm 7, 6 and 5. The last name is in the development package and in PyTorch's wheels.
inline constexpr const char* kHipLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                                "libamdhip64.so.5", "libamdhip64.so"};

}  // namespace detail
}  // namespace timer_v1
}  // namespace headroom
