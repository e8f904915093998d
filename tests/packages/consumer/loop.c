#include <headroom/timer.h>
#include <unistd.h>

int main(void) {
  for (int i = 0; i < 5; ++i) {
    headroom_token step = headroom_begin_step(i);
    headroom_token work = HEADROOM_BEGIN("work in C");
    usleep(2000);
    headroom_end(work);
    headroom_end(step);
  }
  return 0;
}
