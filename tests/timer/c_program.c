// The timer in C, without GNU extensions. Implements c_program.h for timer_test.cc.
// NOLINTBEGIN(modernize-*,readability-*,bugprone-reserved-identifier): also compiled as C.
#include "c_program.h"

#include <headroom/timer.h>

void TimeInC(int regions) {
  for (int i = 0; i < regions; ++i) {
    const headroom_token step = headroom_begin_step(i);
    const headroom_token outer = HEADROOM_BEGIN("c outer");
    const headroom_token inner = headroom_begin("c inner");
    headroom_mark("c mark");
    headroom_counter("c counter", i);
    headroom_gradient("c gradient", 4);
    headroom_end(inner);
    headroom_end(outer);
    headroom_end(step);
  }
}

uint64_t CountInC(const char* key) {
  struct headroom_stats stats;
  headroom_stats_of(key, &stats);
  return stats.count;
}

// NOLINTEND(modernize-*,readability-*,bugprone-reserved-identifier)
