// checkpointing: drops the activations inside each repeated block. The block's forward runs again
// before its backward, with kernels and launches (Chen et al., "Training Deep Nets with Sublinear
// Memory Cost", 2016).
#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <vector>

#include "whatif/job/blocks.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Uncertainty of the recomputed kernels, which take their recorded times.
constexpr double kCheckpointingError = 0.03;

/// Place at which a block runs again.
struct Place {
  TaskIndex task = kNoTask, call = kNoTask;
};

/// Returns the place before each block's first backward task; kNoTask if the block has none.
std::vector<Place> FirstBackward(const Job& job, const std::vector<Block>& blocks) {
  // End row and index of each block, keyed by its first row. Matches rows, because the forward
  // operator that a backward names may be a view without GPU work inside the block.
  std::map<std::uint32_t, std::pair<std::uint32_t, std::size_t>> block_of_row;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto first = OutermostOperator(job, blocks[b].operators.front().op).index();
    const auto last = EndRow(job, OutermostOperator(job, blocks[b].operators.back().op));
    block_of_row[static_cast<std::uint32_t>(first)] = {last, b};
  }
  std::vector<Place> places(blocks.size());
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    const TaskIndex task = op.tasks.front();
    const HostContext& context = job.ContextOf(task);
    if (context.phase != Phase::kBackward || !context.forward.valid()) continue;
    const auto row = static_cast<std::uint32_t>(context.forward.index());
    auto around = block_of_row.upper_bound(row);
    if (around == block_of_row.begin()) continue;
    --around;
    if (row >= around->second.first) continue;
    Place& place = places[around->second.second];
    if (place.task == kNoTask) place = {.task = task, .call = job.LaunchOf(task)};
  }
  return places;
}

bool RunsForwardAgain(const Job& job) {
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind == TaskKind::kGpu && job.ContextOf(task).recomputed)
      return true;
  }
  return false;
}

}  // namespace

Effect ApplyCheckpointing(const Job& job, const Arguments& /*arguments*/, Edit& edit) {
  if (!HasBackward(job))
    return Effect::Abstain(
        WhyNotFound(job, "the recorded steps have no backward: the job does not train"));
  if (!job.attribution().KnowsForward()) {
    return Effect::Abstain(
        "the trace has no sequence numbers that match backward with forward operators");
  }
  if (RunsForwardAgain(job)) return Effect::Abstain("the job already checkpoints");
  const std::vector<Block> blocks = FindBlocks(job);
  if (blocks.empty())
    return Effect::Abstain(WhyNotFound(
        job, "the job has no repeated blocks (operators that recur in a row with the same shapes)",
        {"matrix products and convolutions",
         [&](const LaunchingOperator& op) { return IsProduct(job, op); }}));
  const std::vector<Place> places = FirstBackward(job, blocks);
  // Kernels that earlier scenarios inserted into the forward also run again.
  std::unordered_multimap<TaskIndex, Edit::NewKernel> inserted;
  for (const Edit::NewKernel& kernel : edit.inserted())
    inserted.emplace(kernel.before_task, kernel);

  std::int64_t replayed = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Place& place = places[b];
    if (place.task == kNoTask || place.call == kNoTask) continue;
    ++replayed;
    DurationNs more = Nanoseconds(job.calibration().host.checkpointed_block);
    const auto run_again = [&](Edit::NewKernel kernel) {
      kernel.before_task = place.task;
      kernel.before_call = place.call;
      kernel.host_work += more;
      more = DurationNs(0);
      edit.Insert(kernel);
    };
    for (const LaunchingOperator& op : blocks[b].operators) {
      for (const TaskIndex task : op.tasks) {
        const auto [first, last] = inserted.equal_range(task);
        for (auto kernel = first; kernel != last; ++kernel) run_again(kernel->second);
        const TaskIndex launch = job.LaunchOf(task);
        if (edit.IsRemoved(task) || launch == kNoTask) continue;
        run_again({.duration = edit.DurationOf(task),
                   .host_work = edit.WorkBefore(launch),
                   .launch = edit.DurationOf(launch),
                   .per_sample = true});
      }
    }
  }
  if (replayed == 0)
    return Effect::Abstain(
        "no sequence number matches a backward of the repeated blocks with its forward");
  Effect effect;
  effect.why = fmt::format("{:.3g} blocks per step recompute their forward pass",
                           static_cast<double>(replayed) / job.graph().steps);
  effect.memory_delta_bytes = 0;
  effect.memory_change.checkpointing = true;
  effect.gpu_error = kCheckpointingError;
  effect.validated = ValidityOn(job);
  return effect;
}

}  // namespace headroom
