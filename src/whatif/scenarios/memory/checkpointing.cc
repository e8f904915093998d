// checkpointing: drops the activations inside each repeated block. The block's forward runs again
// before its backward, with kernels and launches (Chen et al., "Training Deep Nets with Sublinear
// Memory Cost", 2016). every=K and match=REGEX choose blocks, because each block trades memory for
// time.
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "whatif/job/blocks.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Uncertainty of the recomputed kernels, which take their recorded times.
constexpr double kCheckpointingError = 0.03;

/// Default of `match`, which also selects blocks without layers.
constexpr std::string_view kEveryLayer = ".*";

/// Place at which a block runs again.
struct Place {
  TaskIndex task = kNoTask, call = kNoTask;
};

/// Returns the place before each block's first backward task; kNoTask if the block has none. Tasks
/// that an earlier scenario removed do not count.
std::vector<Place> FirstBackward(const Job& job, const std::vector<Block>& blocks,
                                 const Edit& edit) {
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
    if (place.task == kNoTask && !edit.IsRemoved(task))
      place = {.task = task, .call = job.LaunchOf(task)};
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

bool HasLayers(const Job& job) {
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind == TaskKind::kGpu && job.ContextOf(task).layer.valid())
      return true;
  }
  return false;
}

/// Blocks that drop their activations.
struct ChosenBlocks {
  std::vector<bool> chosen;       ///< By block.
  std::set<std::size_t> of_step;  ///< Their indices in a step.
  bool same_in_all_steps = true;  ///< If false, `of_step` is not valid.
};

/// Returns true if at least half of a block's operators are in matching layers. A block may begin a
/// few operators before or after its layer.
bool IsInLayer(const Job& job, const Block& block, const RE2& layer) {
  const auto matching = std::count_if(
      block.operators.begin(), block.operators.end(), [&](const LaunchingOperator& op) {
        const HostEventId around = job.ContextOf(op.tasks.front()).layer;
        return around.valid() && RE2::PartialMatch(NameOfOperator(job, around), layer);
      });
  return 2 * static_cast<std::size_t>(matching) >= block.operators.size();
}

ChosenBlocks ChooseBlocks(const Job& job, const std::vector<Block>& blocks, std::size_t every,
                          const std::string& match) {
  const RE2 layer(match, RE2::Quiet);
  ChosenBlocks out;
  std::map<std::int32_t, std::size_t> seen;                      // Blocks of each step.
  std::map<std::int32_t, std::set<std::size_t>> chosen_of_step;  // Their indices.
  std::map<std::int32_t, std::size_t> matching;
  for (const Block& block : blocks) {
    const std::int32_t step = job.graph().tasks[block.operators.front().tasks.front()].step;
    const std::size_t index = seen[step]++;
    const bool matches = match == kEveryLayer || IsInLayer(job, block, layer);
    const bool is_chosen = matches && matching[step]++ % every == 0;
    out.chosen.push_back(is_chosen);
    std::set<std::size_t>& of_step = chosen_of_step[step];
    if (is_chosen) of_step.insert(index);
  }
  for (const auto& [step, indices] : chosen_of_step) {
    out.same_in_all_steps &= indices == chosen_of_step.begin()->second;
  }
  if (!chosen_of_step.empty()) out.of_step = chosen_of_step.begin()->second;
  return out;
}

}  // namespace

Effect ApplyCheckpointing(const Job& job, const Arguments& arguments, Edit& edit) {
  if (!HasBackward(job))
    return NotFound(job, "the recorded steps have no backward: the job does not train");
  if (!job.attribution().KnowsForward()) {
    return Effect::Abstain(
        "the trace has no sequence numbers that match backward with forward operators");
  }
  if (RunsForwardAgain(job)) return Effect::Already("the job checkpoints");
  const std::vector<Block> blocks = FindBlocks(job);
  if (blocks.empty()) {
    return NotFound(
        job, "the job has no repeated blocks (operators that recur in a row with the same shapes)",
        {"matrix products and convolutions",
         [&](const LaunchingOperator& op) { return IsProduct(job, op); }});
  }
  const std::string& match = arguments.Text("match");
  const ChosenBlocks choice =
      ChooseBlocks(job, blocks, static_cast<std::size_t>(arguments.Number("every")), match);
  if (std::find(choice.chosen.begin(), choice.chosen.end(), true) == choice.chosen.end()) {
    return Effect::Abstain(fmt::format(
        "no repeated block is in a layer that matches {}{}", match,
        HasLayers(job) ? ""
                       : ": the trace has no layers (mark modules with record_function, or record "
                         "with_modules=True)"));
  }
  const bool all =
      std::find(choice.chosen.begin(), choice.chosen.end(), false) == choice.chosen.end();
  const std::vector<Place> places = FirstBackward(job, blocks, edit);
  // Kernels that earlier scenarios inserted into the forward also run again.
  std::unordered_multimap<TaskIndex, Edit::NewKernel> inserted;
  for (const Edit::NewKernel& kernel : edit.inserted())
    inserted.emplace(kernel.before_task, kernel);

  std::int64_t replayed = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const Place& place = places[b];
    if (!choice.chosen[b] || place.task == kNoTask || place.call == kNoTask) continue;
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
  effect.gpu_error = kCheckpointingError;
  if (!all && !choice.same_in_all_steps) {
    effect.AlsoBecause("memory: unknown, because the chosen blocks differ between steps");
    return effect;
  }
  effect.memory_delta_bytes = 0;
  effect.memory_change.checkpointing = true;
  if (all) {
    effect.validated = ValidityOn(job);
  } else {
    effect.memory_change.checkpointed_blocks = choice.of_step;
  }
  return effect;
}

}  // namespace headroom
