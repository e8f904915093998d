#pragma once

// NOLINTBEGIN(modernize-*,readability-*,bugprone-reserved-identifier): also compiled as C.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Repeats: a step with the regions "c outer" and, inside it, "c inner", and one event of each
/// kind.
void TimeInC(int regions);
uint64_t CountInC(const char* key);

#ifdef __cplusplus
}
#endif

// NOLINTEND(modernize-*,readability-*,bugprone-reserved-identifier)
