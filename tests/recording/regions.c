// A program with timers, for the tests of `headroom record`: regions SECONDS MODE
//
//   loop      steps of a training loop for SECONDS, a hundred per second
//   busy      short regions, without pauses
//   overlap   regions that overlap without nesting, once
//   mark      a mark, once
//   counter   a value of a counter, once
//
// Prints the number of ended regions and the number of dropped events, for tests to compare. The
// program is in C, the smallest case.
#include <headroom/timer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double Now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void Spend(double seconds) {
  const struct timespec time = {0, (long)(seconds * 1e9)};
  nanosleep(&time, NULL);
}

static void OneStep(int64_t number) {
  const headroom_token whole = headroom_begin_step(number);
  const headroom_token wait = HEADROOM_BEGIN("dataloader_next");
  Spend(0.002);
  headroom_end(wait);
  const headroom_token forward = HEADROOM_BEGIN("FORWARD");
  Spend(0.003);
  headroom_end(forward);
  const headroom_token backward = HEADROOM_BEGIN("BACKWARD");
  Spend(0.005);
  headroom_gradient("fc.weight", 4096);
  headroom_end(backward);
  headroom_counter("loss", 1.0 / (double)(number + 1));
  headroom_mark("checkpoint");
  headroom_end(whole);
}

static void Overlap(void) {
  const headroom_token outer = HEADROOM_BEGIN("outer");
  const headroom_token first = HEADROOM_BEGIN("first");
  Spend(0.002);
  const headroom_token second = HEADROOM_BEGIN("second");
  Spend(0.002);
  headroom_end(first);
  Spend(0.002);
  headroom_end(second);
  headroom_end(outer);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const double end = Now() + atof(argv[1]);
  const char* mode = argv[2];
  if (strcmp(mode, "overlap") == 0) Overlap();
  if (strcmp(mode, "mark") == 0) headroom_mark("checkpoint");
  if (strcmp(mode, "counter") == 0) headroom_counter("loss", 0.5);
  for (int64_t number = 0; strcmp(mode, "loop") == 0 && Now() < end; ++number) OneStep(number);
  while (strcmp(mode, "busy") == 0 && Now() < end) {
    for (int i = 0; i < 1000; ++i) headroom_end(HEADROOM_BEGIN("IO"));
  }
  struct headroom_stats all;
  headroom_stats_of("ALL", &all);
  const struct headroom_drops drops = headroom_drops_now();
  printf("%llu %llu\n", (unsigned long long)all.count, (unsigned long long)drops.ring);
  return 0;
}
