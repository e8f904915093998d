// A library that times a region on the calling thread, and is unloaded before that thread ends.
#include <headroom/timer.hpp>

extern "C" __attribute__((visibility("default"))) void TimeInPlugin() { HEADROOM_SCOPE("plugin"); }
