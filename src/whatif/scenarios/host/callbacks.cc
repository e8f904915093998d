// callbacks: a trainer's callbacks run in parallel with the loop (async), or only every N-th time.
// In the first case, their GPU work stays unchanged; in the second, it is divided by N. In both
// cases, the host no longer waits inside them.
#include <fmt/format.h>

#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"

namespace headroom {

Effect ApplyCallbacks(const Job& job, const Arguments& arguments, Edit& edit) {
  const std::vector<bool> inside = SelectHost(
      job, [&](HostEventId event) { return job.RolesOf(event).Has(HostRole::kCallback); });
  const bool seldom = arguments.Text("every") != "1";
  const double share = seldom ? 1 / arguments.Number("every") : 0;
  std::int64_t changed = ScaleHostWork(job, inside, share, edit);
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& recorded = job.graph().tasks[task];
    if (recorded.kind == TaskKind::kGpu) {
      const HostEventId launch = job.store().gpu_tasks.launch[recorded.row];
      if (seldom && launch.valid() && inside[launch.index()]) edit.Scale(task, share);
    } else if (inside[recorded.row]) {
      ++changed;
      if (recorded.kind == TaskKind::kCall) edit.Scale(task, share);
      if (recorded.kind == TaskKind::kReturn) edit.RemoveWait(task);
    }
  }
  if (changed == 0) {
    return Effect::Abstain(
        "no callback range was recorded in the steps; wrap callbacks in a record_function whose "
        "name contains \"callback\"");
  }
  return {.why = seldom ? fmt::format("on average over {} steps", arguments.Text("every"))
                        : "if the callbacks hold no lock that the loop needs"};
}

}  // namespace headroom
