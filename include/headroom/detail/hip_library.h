// What the HIP runtime is called.
#pragma once

namespace headroom {
inline namespace timer_v1 {
namespace detail {

/// Of ROCm 7, 6 and 5; the last is of the development package, and of PyTorch's wheels.
inline constexpr const char* kHipLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                                "libamdhip64.so.5", "libamdhip64.so"};

}  // namespace detail
}  // namespace timer_v1
}  // namespace headroom
