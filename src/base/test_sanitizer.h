// Whether a sanitizer watches, under which a test takes many times as long.
#pragma once

namespace headroom::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace headroom::testing
