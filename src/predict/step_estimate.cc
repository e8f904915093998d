#include "predict/step_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/units.h"
#include "kernels/kernel_model.h"

namespace headroom {

Result<StepEstimate> EstimateStep(const OperatorList& list, const DeviceRates& rates,
                                  const KernelConstants& constants) {
  StepEstimate estimate;
  double& step = estimate.step.mid;
  double measured = 0, convolutions = 0, measured_convolutions = 0;
  for (const ListedWork& listed : list.works) {
    const std::optional<double> ns = KernelNs(listed.work, rates, constants);
    if (!ns) {
      return Status::NoAnswer(fmt::format("{}: no model for work of class {} in {}",
                                          rates.device->name, Name(ClassOf(listed.work)),
                                          Name(listed.work.dtype)));
    }
    const double ms = *ns * listed.repeats / kNsPerMs;
    step += ms;
    const double evidence = ms * CorrectionOf(listed.work, rates).evidence;
    measured += evidence;
    if (ClassOf(listed.work) == WorkClass::kConvolution) {
      convolutions += ms;
      measured_convolutions += evidence;
    }
    const double active =
        std::min(*ns, FullPowerNs(listed.work, rates)) * listed.repeats / kNsPerMs;
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
  if (convolutions > 0) {
    // The steps from which this range was derived have no convolutions. Assumes that errors of
    // convolutions are independent of the rest.
    const ErrorRange theirs =
        RangeOf(WorkClass::kConvolution, rates, measured_convolutions / convolutions, constants);
    const double less = convolutions * (1 - std::exp(theirs.low));
    const double more = convolutions * (std::exp(theirs.high) - 1);
    estimate.step.low = std::max(0.0, step - std::hypot(step - estimate.step.low, less));
    estimate.step.high = step + std::hypot(estimate.step.high - step, more);
  }
  constexpr double kMaxMs = 1e12;  // About 30 years. Times in nanoseconds overflow after 300 years.
  if (!(estimate.step.high <= kMaxMs)) {
    return Status::BadInput(fmt::format(
        "{} would take more than {:g} ms per step on {}; correct its repeats and dimensions",
        list.name.empty() ? "the list" : "'" + list.name + "'", kMaxMs, rates.device->short_name));
  }
  return estimate;
}

}  // namespace headroom
