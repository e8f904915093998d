// fused-optimizer of a job on the CPU: one pass over the parameters moves the algorithm's bytes at
// the median rate of the recorded updates' bytes. The mean is lower, because some operators
// allocate their result.
#include "whatif/scenarios/parameters/optimizer_on_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "whatif/job/host_operators.h"
#include "whatif/job/operators.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/scenarios/selection.h"

namespace headroom {
namespace {

/// Half-width, as a share of the change. Caches hold the tensors of small models in both forms.
constexpr double kCpuUpdateError = 0.3;

/// Bytes that an operator moved, and its rate in bytes per ns.
struct Moved {
  double rate = 0, bytes = 0;
};

/// Returns the rate that half of the bytes exceed. REQUIRES: `moved` is not empty.
double MedianRate(std::vector<Moved> moved) {
  std::ranges::sort(moved, {}, &Moved::rate);
  double left = 0;
  for (const Moved& each : moved) left += each.bytes / 2;
  for (const Moved& each : moved) {
    left -= each.bytes;
    if (left <= 0) return each.rate;
  }
  return moved.back().rate;
}

}  // namespace

Effect FuseOptimizerOnCpu(const Job& job, bool fused, Edit& edit) {
  const auto& events = job.store().host_events;
  const std::vector<HostEventId> range_of = OptimizerRanges(job);
  const std::vector<double> self = SelfTimes(job);
  struct Update {
    const UpdateAlgorithm* algorithm = nullptr;
    double parameter_bytes = 0;
  };
  std::map<HostEventId, Update> updates;
  std::vector<Moved> moved;
  bool is_fused = false;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId event(row), range = range_of[row];
    if (!range.valid() || events.kind[row] != HostEventKind::kOperator) continue;
    const auto [at, is_new] = updates.try_emplace(range);
    Update& update = at->second;
    if (is_new) update.algorithm = AlgorithmOf(job, range);
    const std::string_view name = NameOfOperator(job, event);
    is_fused |= name.find("_fused_") != std::string_view::npos;
    const OperatorCost* cost = job.CostOf(event);
    const OperatorCall* call = job.CallOf(event);
    if (cost == nullptr || call == nullptr) continue;
    if (self[row] > 2 * kDispatchNs)
      moved.push_back({cost->bytes / (self[row] - kDispatchNs), cost->bytes});
    const TensorArg* first = FirstTensor(*call);
    if (update.algorithm != nullptr && name == update.algorithm->counted && first != nullptr)
      update.parameter_bytes += ElementsOf(*first) * BytesPerElement(first->dtype);
  }
  if (updates.empty() && std::ranges::any_of(range_of, &HostEventId::valid))
    return Effect::Abstain(std::string(kNoOperatorsOnCpu));
  if (updates.empty()) {
    return Effect::Abstain(
        "no optimizer step was recorded (expected a range \"Optimizer.step#...\")");
  }
  if (is_fused) return Effect::Already("the optimizer is fused");
  if (!fused) {
    return Effect::Nothing(
        "lists (foreach) gain nothing on the CPU: they run the same operators one by one");
  }
  for (const auto& [range, update] : updates) {
    if (update.algorithm == nullptr)
      return Effect::Abstain("only Adam, AdamW and SGD are supported");
    if (update.parameter_bytes == 0) {
      return Effect::Abstain(
          "the parameters' shapes were not recorded; record shapes (record_shapes=True)");
    }
  }
  if (moved.empty())
    return Effect::Abstain("the update's operators are too short to show the rate of memory");
  const double rate = MedianRate(std::move(moved));
  std::string why = fmt::format(
      "one pass over {:.3g} MB of parameters moves {:.3g} times their bytes, at the {:.3g} GB/s of "
      "the recorded update",
      updates.begin()->second.parameter_bytes / 1e6, updates.begin()->second.algorithm->fused,
      rate);
  std::vector<double> factors(events.rows(), 1.0);
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (range_of[row].valid()) factors[row] = 0;
  }
  ScaleSelfTimes(job, factors, edit);
  const Graph& graph = job.graph();
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    const Task& call = graph.tasks[task];
    if (call.kind != TaskKind::kCall) continue;
    const auto run = [&](HostEventId event) {
      if (!event.valid()) return;
      const auto update = updates.find(range_of[event.index()]);
      if (update == updates.end()) return;
      const double ns = update->second.algorithm->fused * update->second.parameter_bytes / rate;
      edit.AddWorkBefore(task, Nanoseconds(ns + job.calibration().host.fused_optimizer));
      updates.erase(update);  // Each update runs once.
    };
    for (std::uint32_t p = call.pieces_begin; p < call.pieces_end; ++p) run(graph.pieces[p].owner);
    run(HostEventId(call.row));
  }
  Effect effect{.why = std::move(why)};
  effect.change_error = kCpuUpdateError;
  return effect;
}

}  // namespace headroom
