#include "predict/step_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/units.h"
#include "predict/kernel_model.h"

namespace headroom {

Result<StepEstimate> EstimateStep(const OperatorList& list, const DeviceRates& rates,
                                  const KernelConstants& constants) {
  StepEstimate estimate;
  double& step = estimate.step.mid;
  double measured = 0;
  for (const ListedWork& listed : list.works) {
    const std::optional<double> ns = KernelNs(listed.work, rates, constants);
    if (!ns) {
      return Status::NoAnswer(fmt::format("{}: no model of {} in {}", rates.device->name,
                                          Name(ClassOf(listed.work)), Name(listed.work.dtype)));
    }
    const double ms = *ns * listed.repeats / kNsPerMs;
    step += ms;
    measured += ms * CorrectionOf(listed.work, rates).evidence;
    const double active = std::min(*ns, FullRateNs(listed.work, rates)) * listed.repeats / kNsPerMs;
    estimate.activity.active_ms += active;
    const GpuPhase phase =
        listed.phase == StepPhase::kForward ? GpuPhase::kForward : GpuPhase::kBackward;
    StepActivity::Part& part = estimate.activity.phases[static_cast<std::size_t>(phase)];
    part.busy_ms += ms;
    part.active_ms += active;
    estimate.phase_ms[static_cast<std::size_t>(listed.phase)] += ms;
  }
  estimate.activity.step_ms = estimate.activity.busy_ms = step;
  estimate.measured_share = step > 0 ? measured / step : 0;
  const ErrorRange error = RangeOfStep(rates, estimate.measured_share, constants);
  estimate.step.low = step * std::exp(error.low);
  estimate.step.high = step * std::exp(error.high);
  return estimate;
}

}  // namespace headroom
