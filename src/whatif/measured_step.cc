#include "whatif/measured_step.h"

#include <fmt/format.h>

#include <cmath>

namespace headroom {
namespace {

constexpr double kLeast = 0.3, kMost = 3;

/// A step of which so little depends on the host tells nothing of it: relative change of the step
/// for a relative change of host time.
constexpr double kSensitive = 0.3;

/// Repeated measurements of a step paced by the GPU differ by up to this.
constexpr double kNoise = 0.05;

constexpr double kHardlyMore = 1.01;

constexpr int kBisections = 30;

}  // namespace

void StretchHost(Plan& plan, double factor) {
  const PlanShape& shape = *plan.shape;
  const auto scaled = [&](std::int64_t& ns) {
    ns = std::llround(static_cast<double>(ns) * factor);
  };
  for (std::size_t task = 0; task < plan.tasks(); ++task) {
    if (shape.gpu[task] != 0) continue;
    scaled(plan.duration[task]);
    // The first edge of a host task is the work before it.
    const std::uint32_t track = shape.edge_begin[task];
    if (track < shape.edge_begin[task + 1]) scaled(plan.lag[track]);
  }
}

Result<MeasuredStep> FitToMeasuredStep(const Plan& plan, double step_ms) {
  Replayer replayer;
  const auto step_at = [&](double factor) {
    Plan scaled = plan;
    StretchHost(scaled, factor);
    return replayer.Run(scaled).step_ns / 1e6;
  };
  const double least = step_at(kLeast), most = step_at(kMost);
  if (step_ms < least * (1 - kNoise)) {
    return Status::Usage(
        fmt::format("--measured-step-ms {}: even with a far faster host the recorded work takes "
                    "{:.2f} ms a step; is the measured step of the same job (batch size, "
                    "precision, GPU), and is it one step?",
                    step_ms, least));
  }
  if (step_ms > most * (1 + kNoise)) {
    return Status::Usage(
        fmt::format("--measured-step-ms {}: even with a host three times slower the recorded work "
                    "takes {:.2f} ms a step; is the measured step of the same job, and is it one "
                    "step?",
                    step_ms, most));
  }
  // A little less than the GPU's own work is the noise of the measurement.
  const double target = std::max(step_ms, least * kHardlyMore);
  double low = kLeast, high = kMost;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = std::sqrt(low * high);
    (step_at(middle) <= target ? low : high) = middle;
  }
  MeasuredStep measured{.host_factor = std::sqrt(low * high)};
  constexpr double kSmall = 1.05;
  const double above = step_at(measured.host_factor * kSmall),
               below = step_at(measured.host_factor / kSmall);
  const double sensitivity = std::log(above / below) / (2 * std::log(kSmall));
  // Where the GPU paces the measured step, the host is at least as fast as that takes.
  measured.tells = sensitivity >= kSensitive || measured.host_factor < 1;
  return measured;
}

}  // namespace headroom
