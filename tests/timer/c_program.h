#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// So many times: a step with the regions "c outer" and inside it "c inner", and an event each.
void TimeInC(int regions);
uint64_t CountInC(const char* key);

#ifdef __cplusplus
}
#endif
