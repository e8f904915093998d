#include "whatif/scenarios/fusion/fusion.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "analysis/names/operator_costs.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/selection.h"

namespace headroom {
namespace {

/// One kernel of a chain.
struct ChainLink {
  const LaunchingOperator* op = nullptr;
  TaskIndex task = kNoTask;
  double elements = 0;       ///< Elements of its result.
  double bytes = 0;          ///< Bytes that it moves.
  double element_bytes = 0;  ///< Bytes per element of its result.
  bool reduces = false;      ///< Each result depends on many elements.
};

bool IsElementwise(WorkFamily family) {
  return family == WorkFamily::kElementwise || family == WorkFamily::kRandom ||
         family == WorkFamily::kCopy;
}

bool ReducesRows(WorkFamily family) {
  return family == WorkFamily::kNormalization || family == WorkFamily::kSoftmax ||
         family == WorkFamily::kLoss || family == WorkFamily::kReduction;
}

std::optional<ChainLink> LinkOf(const Job& job, const LaunchingOperator& op, bool reductions,
                                const Edit& edit) {
  const TaskIndex task = op.tasks.front();
  if (op.tasks.size() != 1 || IsReplaced(op.tasks, edit) || job.LaunchOf(task) == kNoTask ||
      job.LaunchedBy(job.LaunchOf(task)) != 1)
    return std::nullopt;
  if (job.store().gpu_tasks.kind[job.graph().tasks[task].row] != GpuTaskKind::kKernel)
    return std::nullopt;
  const Phase phase = job.ContextOf(task).phase;
  if (phase != Phase::kForward && phase != Phase::kBackward && phase != Phase::kOther)
    return std::nullopt;
  const OperatorCost* cost = job.CostOf(op.op);
  if (cost == nullptr) return std::nullopt;
  const bool reduces = ReducesRows(cost->family);
  if (!IsElementwise(cost->family) && !(reductions && reduces)) return std::nullopt;
  const OperatorCall* call = job.CallOf(op.op);
  const TensorArg* first = call ? FirstTensor(*call) : nullptr;
  if (first == nullptr) return std::nullopt;
  return ChainLink{.op = &op,
                   .task = task,
                   .elements = LargestElements(*call),
                   .bytes = cost->bytes,
                   .element_bytes = static_cast<double>(BytesPerElement(first->dtype)),
                   .reduces = reduces};
}

/// Finds the next task on each GPU task's stream, and whether the host waits for the GPU between
/// the launches of the two.
class Neighbours {
 public:
  explicit Neighbours(const Job& job) : waits_before_(job.graph().tasks.size() + 1) {
    const auto& tasks = job.graph().tasks;
    std::map<StreamId, TaskIndex> last;
    for (TaskIndex task = 0; task < tasks.size(); ++task) {
      waits_before_[task + 1] =
          waits_before_[task] + (tasks[task].kind == TaskKind::kReturn ? 1 : 0);
      if (tasks[task].kind != TaskKind::kGpu) continue;
      const auto [before, is_first] =
          last.try_emplace(job.store().gpu_tasks.stream[tasks[task].row], task);
      if (!is_first) next_[before->second] = task;
      before->second = task;
    }
  }
  bool Follow(const Job& job, TaskIndex first, TaskIndex second) const {
    const auto next = next_.find(first);
    return next != next_.end() && next->second == second &&
           job.graph().tasks[first].step == job.graph().tasks[second].step &&
           waits_before_[job.LaunchOf(first)] == waits_before_[job.LaunchOf(second)];
  }

 private:
  std::map<TaskIndex, TaskIndex> next_;
  std::vector<std::int64_t> waits_before_;
};

/// Returns the time of the fused kernel: that of the chain, without the memory traffic between its
/// kernels.
DurationNs FusedTime(const std::vector<ChainLink>& chain, const Edit& edit) {
  double moved = 0, saved = 0, time = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    moved += chain[i].bytes;
    time += std::max(0.0, static_cast<double>(edit.DurationOf(chain[i].task).ns()) - kKernelStart);
    if (i + 1 < chain.size()) saved += 2 * chain[i].elements * chain[i].element_bytes;
  }
  const double share = moved > 0 ? std::clamp(1 - saved / moved, 0.0, 1.0) : 1;
  return DurationNs(std::llround(kKernelStart + time * share));
}

}  // namespace

std::int64_t FuseChains(const Job& job, bool reductions, Edit& edit) {
  const std::vector<LaunchingOperator> operators = LaunchingOperators(job);
  const Neighbours neighbours(job);
  std::vector<LaunchingOperator> gone;
  std::int64_t chains = 0;
  std::vector<ChainLink> chain;
  const auto fuse = [&] {
    if (chain.size() > 1) {
      ++chains;
      edit.SetDuration(chain.front().task, FusedTime(chain, edit));
      for (std::size_t i = 1; i < chain.size(); ++i) gone.push_back(*chain[i].op);
    }
    chain.clear();
  };
  for (const LaunchingOperator& op : operators) {
    const std::optional<ChainLink> link = LinkOf(job, op, reductions, edit);
    const auto reduces = [](const ChainLink& other) { return other.reduces; };
    const bool goes_on = link && !chain.empty() && link->elements == chain.back().elements &&
                         !(link->reduces && std::any_of(chain.begin(), chain.end(), reduces)) &&
                         neighbours.Follow(job, chain.back().task, link->task) &&
                         job.ContextOf(link->task).phase == job.ContextOf(chain.back().task).phase;
    if (!goes_on) fuse();
    if (link) chain.push_back(*link);
  }
  fuse();
  RemoveOperators(job, gone, edit);
  return chains;
}

}  // namespace headroom
