#include "whatif/scenarios/workload/batch_curve.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>

#include "analysis/names/operator_costs.h"
#include "cost/operator_cost.h"

namespace headroom {
namespace {

constexpr std::int64_t kMaxHalves = 2, kMaxDoubles = 4;

/// Returns the leading extent of the first tensor after the first `skipped` ones.
std::optional<std::int64_t> LeadingExtent(const OperatorCall& call, std::size_t skipped) {
  for (const OperatorArg& arg : call.args) {
    if (arg.kind == OperatorArg::Kind::kTensor && !arg.tensors.empty() &&
        !arg.tensors[0].dims.empty() && skipped-- == 0)
      return arg.tensors[0].dims[0];
  }
  return std::nullopt;
}

/// Returns true if the first tensor is the bias that is added to a product.
bool BeginsWithBias(const Job& job, const HostContext& context) {
  const std::string_view name = job.store().Text(job.store().host_events.name[context.op.index()]);
  return name == "aten::addmm" || name == "aten::addmv" || name == "aten::_addmm_activation";
}

/// REQUIRES: points.front().samples <= samples <= points.back().samples.
double ThroughputAt(const std::vector<BatchPoint>& points, double samples) {
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto left = static_cast<double>(points[i - 1].samples);
    const auto right = static_cast<double>(points[i].samples);
    if (samples > right) continue;
    const double share = std::log(samples / left) / std::log(right / left);
    return points[i - 1].samples_per_s +
           share * (points[i].samples_per_s - points[i - 1].samples_per_s);
  }
  return points.back().samples_per_s;
}

/// Returns the most frequent leading extent of the forward's outermost operators on the CPU.
std::optional<std::int64_t> SamplesOnCpu(const Job& job) {
  const auto& events = job.store().host_events;
  std::map<std::int64_t, std::int64_t> used;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId event(row), parent = events.parent[row];
    if (events.kind[row] != HostEventKind::kOperator ||
        job.attribution().Of(event).phase != Phase::kForward ||
        (parent.valid() && events.kind[parent.index()] == HostEventKind::kOperator))
      continue;
    const OperatorCall* call = job.CallOf(event);
    if (const auto extent = call ? LeadingExtent(*call, 0) : std::nullopt) ++used[*extent];
  }
  const auto most =
      std::ranges::max_element(used, {}, [](const auto& count) { return count.second; });
  return most == used.end() ? std::nullopt : std::optional(most->first);
}

}  // namespace

std::optional<std::int64_t> SamplesPerStep(const Job& job) {
  if (!job.HasGpuWork()) return SamplesOnCpu(job);
  // Rows of a product with a bias may be tokens, so they count only without other sources.
  std::map<std::int64_t, std::int64_t> copied, used, multiplied;
  HostEventId last;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& recorded = job.graph().tasks[task];
    if (recorded.kind != TaskKind::kGpu) continue;
    const HostContext& context = job.ContextOf(task);
    if (!context.op.valid() || context.op == last) continue;
    last = context.op;
    const bool copy = job.store().gpu_tasks.copy[recorded.row] == CopyKind::kHostToDevice;
    // An optimizer on the host copies parameters.
    if (copy ? context.phase == Phase::kOptimizer : context.phase != Phase::kForward) continue;
    // Time is the first dimension in many recurrent networks.
    if (context.costed.valid()) {
      const OperatorCall* costed = job.CallOf(context.costed);
      if (const auto batch = costed ? RecurrentBatchOf(*costed) : std::optional<std::int64_t>())
        return batch;
    }
    const OperatorCall* call = job.CallOf(context.op);
    const bool has_bias = BeginsWithBias(job, context);
    const std::optional<std::int64_t> extent =
        call ? LeadingExtent(*call, has_bias ? 1 : 0) : std::nullopt;
    if (extent) ++(copy ? copied : has_bias ? multiplied : used)[*extent];
  }
  const auto& forward = used.empty() ? multiplied : used;
  // If some copied extents are also leading extents of forward inputs, only these can be the batch.
  const auto is_input = [&](const auto& count) { return forward.contains(count.first); };
  if (std::any_of(copied.begin(), copied.end(), is_input))
    std::erase_if(copied, [&](const auto& count) { return !is_input(count); });
  const auto& counts = copied.empty() ? forward : copied;
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == counts.end()) return std::nullopt;
  return most->first;
}

std::vector<std::int64_t> BatchSizesOfCurve(std::int64_t recorded, std::int64_t asked) {
  std::vector<std::int64_t> sizes = {recorded, asked};
  for (std::int64_t i = 1; i <= kMaxHalves && recorded % (std::int64_t{1} << i) == 0; ++i)
    sizes.push_back(recorded >> i);
  for (std::int64_t i = 1; i <= kMaxDoubles; ++i) sizes.push_back(recorded << i);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::optional<std::int64_t> FindKnee(std::vector<BatchPoint> points) {
  std::erase_if(points, [](const BatchPoint& point) { return point.too_large; });
  std::optional<std::int64_t> knee;
  for (const BatchPoint& point : points) {
    const double doubled = 2 * static_cast<double>(point.samples);
    if (doubled > static_cast<double>(points.back().samples)) break;
    const bool worth = ThroughputAt(points, doubled) >= kWorthDoubling * point.samples_per_s;
    if (worth) {
      knee.reset();
    } else if (!knee) {
      knee = point.samples;
    }
  }
  return knee;
}

}  // namespace headroom
