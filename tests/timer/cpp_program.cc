// Uses the whole API of timer.hpp and gpu_timer.hpp. Compiled as C++17 and C++20, enabled and
// compiled out.
#include <headroom/gpu_timer.hpp>
#include <headroom/timer.hpp>
#include <string>

namespace {

inline int Twice(int x) {
  HEADROOM_SCOPE("inline");
  return 2 * x;
}

// Two regions on one line.
#define BOTH_SCOPES    \
  HEADROOM_SCOPE("a"); \
  HEADROOM_SCOPE("b")

inline int Both(int x) {
  BOTH_SCOPES;
  return x;
}

template <typename T>
T Thrice(T x) {
  HEADROOM_SCOPE("template");
  return 3 * x;
}

}  // namespace

int Everything();
int Everything() {
  const headroom::Step step(1);
  HEADROOM_SCOPE("scope");
  const headroom::Scope text("text"), string(std::string("string")), key(headroom::Key("key"));
  const headroom_token token = headroom::begin("token");
  headroom::mark("mark");
  headroom::counter("counter", 1);
  headroom::gradient("gradient", 4);
  headroom::end(token);
  headroom::end(HEADROOM_BEGIN("literal"));
  const headroom::GpuScope gpu("gpu");
  const headroom::InputWait wait;
  headroom::CpuGpuTimer twin;
  twin.start(headroom::keys::kBatch, true);
  twin.end(headroom::keys::kBatch, true);
  headroom::Timer timer;
  timer.start(headroom::keys::kEpoch);
  timer.end(headroom::keys::kEpoch);
  timer.complete_all();
  headroom::enable(headroom::enabled());
  return Twice(1) + Both(1) + Thrice(1) + static_cast<int>(headroom::stats("scope").count) +
         static_cast<int>(headroom::drops().ring) + static_cast<int>(headroom::recorded()) +
         static_cast<int>(headroom::gpu_counts().full + headroom::gpu_stats("gpu").count);
}
