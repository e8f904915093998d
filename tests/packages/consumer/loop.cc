#include <unistd.h>

#include <headroom/bench_stage.hpp>
#include <headroom/gpu_timer.hpp>
#include <headroom/timer.hpp>

int main() {
  for (int i = 0; i < 5; ++i) {
    const headroom_token step = headroom_begin_step(i);
    {
      HEADROOM_SCOPE("work in C++");
      usleep(2000);
    }
    headroom_end(step);
  }
}
