// network-speed: all communication between GPUs takes 1/factor of its time, both a scenario's
// transfers and recorded collectives. A recorded collective also waits for the slowest rank, and a
// faster network does not change that. Its forecast is therefore an upper bound of the gain.
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/selection.h"

namespace headroom {

Effect ApplyNetworkSpeed(const Job& job, const Arguments& arguments, Edit& edit) {
  const double factor = arguments.Number("factor");
  const std::vector<TaskIndex> collectives = SelectTasks(
      job, [&](TaskIndex task) { return job.ClassOf(task).family == WorkFamily::kCommunication; });
  for (const TaskIndex task : collectives) edit.Scale(task, 1 / factor);
  const std::optional<std::uint32_t> network = edit.FindChannel(kNetwork);
  for (Edit::ChannelTask& task : edit.channel_tasks()) {
    if (task.channel == network) task.Scale(1 / factor);
  }
  if (collectives.empty() && !network) {
    return Effect::Nothing("the job does not communicate; try data-parallel:gpus=N+network-speed");
  }
  Effect effect{.memory_delta_bytes = 0};
  effect.gpu_error = effect.transfer_error = kNetworkError;
  if (!collectives.empty())
    effect.why = "at most: a collective's time includes its wait for the slowest rank";
  return effect;
}

}  // namespace headroom
