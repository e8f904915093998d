// batch-size of a job on the CPU: operators of the forward and the backward take the time of their
// FLOPs and bytes. The part of a product that reads or writes the weights stays, and so do
// dispatch, the update, the accumulation of gradients, and the loop's work outside operators.
#include "whatif/scenarios/workload/batch_on_cpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "analysis/names/operator_costs.h"
#include "render/number_format.h"
#include "whatif/job/gradients.h"
#include "whatif/job/host_operators.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {
namespace {

/// Half-width, as a share of the change. Caches hold small batches, and libraries choose blocks by
/// size.
constexpr double kCpuBatchError = 0.35;

/// Returns true for an event inside the accumulation of a gradient, or a gradient of a table.
bool WorksOnGradientsOnly(const Job& job, HostEventId event) {
  for (; event.valid(); event = job.store().host_events.parent[event.index()]) {
    const std::string_view name = NameOfOperator(job, event);
    if (name.find(kAccumulateGrad) != std::string_view::npos ||
        name.find("embedding_dense_backward") != std::string_view::npos)
      return true;
  }
  return false;
}

/// Returns the bytes of a product's matrix without the extent of the batch: that of the forward's
/// rows. 0 if there is none.
double WeightBytes(const Job& job, HostEventId op, const GemmShape& shape) {
  if (shape.batch != 1) return 0;
  const auto bytes = [&](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) * static_cast<double>(b) * BytesPerElement(shape.dtype);
  };
  const HostContext& context = job.attribution().Of(op);
  if (context.phase != Phase::kBackward) return bytes(shape.k, shape.n);
  // The gradient of the weights sums over the forward's rows.
  const auto& events = job.store().host_events;
  if (!context.forward.valid()) return 0;
  for (std::size_t row = context.forward.index(); row < EndRow(job, context.forward); ++row) {
    const OperatorCall* call = job.CallOf(HostEventId(row));
    const std::optional<GemmShape> forward = call ? GemmShapeOf(*call) : std::nullopt;
    if (!forward || events.kind[row] != HostEventKind::kOperator) continue;
    return shape.k == forward->m ? bytes(shape.m, shape.n) : bytes(shape.k, shape.n);
  }
  return 0;
}

/// Returns the factor on the work in the self time of an operator on activations.
double GrowthOf(const Job& job, HostEventId event, double work_ns,
                const std::optional<double>& bytes_per_ns, double ratio) {
  const HostEventId costed = job.attribution().Of(event).costed;
  const OperatorCall* call = costed.valid() ? job.CallOf(costed) : nullptr;
  const std::optional<GemmShape> shape = call ? GemmShapeOf(*call) : std::nullopt;
  if (!shape || !bytes_per_ns || work_ns <= 0) return ratio;
  const double stays = std::min(1.0, WeightBytes(job, costed, *shape) / *bytes_per_ns / work_ns);
  return stays + (1 - stays) * ratio;
}

}  // namespace

std::optional<Effect> BatchSizeOnCpu(const Job& job, double batch, double samples, Edit& edit) {
  const double ratio = samples / batch;
  const std::vector<double> self = SelfTimes(job);
  const std::optional<double> bytes_per_ns = RecordedBandwidth(job, self);
  std::vector<double> factors(self.size(), 1.0);
  double all = 0, grown = 0;
  for (std::size_t row = 0; row < self.size(); ++row) {
    const HostEventId event(row);
    if (job.store().host_events.kind[row] != HostEventKind::kOperator) continue;
    all += self[row];
    const Phase phase = job.attribution().Of(event).phase;
    if ((phase != Phase::kForward && phase != Phase::kBackward) || WorksOnGradientsOnly(job, event))
      continue;
    const OperatorCall* call = job.CallOf(event);
    if (call != nullptr && LargestElements(*call) <= 1) continue;  // A scalar, as the loss.
    const double growth = GrowthOf(job, event, self[row] - kDispatchNs, bytes_per_ns, ratio);
    factors[row] = WithDispatch(self[row], growth);
    if (self[row] > kDispatchNs) grown += self[row];
  }
  if (grown == 0) return std::nullopt;
  ScaleSelfTimes(job, factors, edit);
  Effect effect;
  effect.why = fmt::format(
      "{} per step instead of {:.0f}; operators that take {:.0f} % of operator time grow with the "
      "batch",
      Plural(static_cast<std::int64_t>(samples), "sample"), batch, 100 * grown / all);
  effect.change_error = kCpuBatchError;
  effect.work = ratio;
  return effect;
}

}  // namespace headroom
