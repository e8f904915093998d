#include "sim/step_scale.h"

#include <algorithm>
#include <vector>

namespace headroom {

double GpuWorkNs(const Plan& plan) {
  const PlanShape& shape = *plan.shape;
  constexpr std::size_t kNoStream = SIZE_MAX;
  std::vector<std::size_t> stream(plan.tasks(), kNoStream);
  std::vector<double> work;  // Indexed by stream.
  for (std::size_t task = 0; task < plan.tasks(); ++task) {
    const bool on_channel = !shape.channel.empty() && shape.channel[task] != kNoChannel;
    if (shape.gpu[task] == 0 || on_channel) continue;
    // The first edge comes from the previous task of the stream. For the stream's first task, it
    // comes from the previous cycle or from the launch.
    const std::uint32_t track = shape.edge_begin[task];
    if (track < shape.edge_begin[task + 1] && shape.from[track] >= 0)
      stream[task] = stream[static_cast<std::size_t>(shape.from[track] / 2)];
    if (stream[task] == kNoStream) {
      stream[task] = work.size();
      work.push_back(0);
    }
    work[stream[task]] += static_cast<double>(plan.duration[task]);
  }
  return work.empty() ? 0 : *std::ranges::max_element(work) / shape.steps;
}

namespace {

/// Returns the host work before the first call of the cycle in ns, or 0 without such work.
double WorkBeforeFirstCall(const Plan& plan) {
  const PlanShape& shape = *plan.shape;
  for (std::size_t task = 0; task < plan.tasks(); ++task) {
    const std::uint32_t edge = shape.edge_begin[task];
    if (shape.gpu[task] != 0 || edge == shape.edge_begin[task + 1] || shape.from[edge] >= 0)
      continue;
    return plan.lag[edge] > kNoEdge ? static_cast<double>(plan.lag[edge]) : 0;
  }
  return 0;
}

}  // namespace

StepScale::StepScale(const Plan& unchanged, double told_ns, double replayed_ns, double before_ns)
    : told_ns_(told_ns),
      replayed_ns_(replayed_ns),
      before_ns_(before_ns),
      work_before_ns_(WorkBeforeFirstCall(unchanged)),
      keeps_gpu_work_(GpuWorkNs(unchanged) <= told_ns) {}

StepScale StepScale::OfMany(const Plan& unchanged, double told_ns, double replayed_ns) {
  return StepScale(unchanged, told_ns, replayed_ns, 0);
}

StepScale StepScale::OfOne(const Plan& unchanged, double told_ns, double replayed_ns) {
  return StepScale(unchanged, std::min(told_ns, replayed_ns), replayed_ns,
                   std::max(0.0, told_ns - replayed_ns));
}

double StepScale::BeforeNs(const Plan& plan) const {
  if (before_ns_ == 0 || work_before_ns_ == 0) return before_ns_;
  return before_ns_ * (WorkBeforeFirstCall(plan) / work_before_ns_);
}

double StepScale::Ns(const Plan& plan, double replayed_ns) const {
  const double scaled = told_ns_ * (replayed_ns / replayed_ns_) + BeforeNs(plan);
  if (!keeps_gpu_work_ || scaled >= replayed_ns) return scaled;
  return std::max(scaled, std::min(replayed_ns, GpuWorkNs(plan)));
}

double StepScale::FactorOf(const Plan& plan, double replayed_ns) const {
  return replayed_ns > 0 ? (Ns(plan, replayed_ns) - BeforeNs(plan)) / replayed_ns : factor();
}

}  // namespace headroom
