// remove-syncs: no call waits for the GPU. The host's use of the awaited value stays unchanged. The
// forecast is therefore an upper bound of the gain without `.item()`, `.cpu()` and synchronize().
#include "whatif/scenarios/catalogue.h"

namespace headroom {

Effect ApplyRemoveSyncs(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  std::int64_t waits = 0;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kReturn) continue;
    edit.RemoveWait(task);
    ++waits;
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    waits += kernel.waiting_call != kNoTask ? 1 : 0;
    kernel.waiting_call = kNoTask;
  }
  if (waits == 0) return Effect::Nothing("no call of the recorded steps waits for the GPU");
  return {.memory_delta_bytes = 0, .is_upper_bound = true};
}

}  // namespace headroom
