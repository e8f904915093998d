#include "whatif/job/measured_step.h"

#include <fmt/format.h>

#include <cmath>

namespace headroom {
namespace {

constexpr double kMin = 0.3, kMax = 3;

/// A step that is outside the plan's range by more than this share belongs to another job.
constexpr double kNoise = 0.05;

/// Difference of a GPU-bound step between measurements, and between a measurement and the
/// recording. For 26 jobs on one H200, it was at most 2 %.
constexpr double kGpuNoise = 0.03;

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

Result<MeasuredStep> FitToMeasuredStep(const Plan& plan, double step_ms, StepScale scale) {
  Replayer replayer;
  const auto step_at = [&](double factor) {
    Plan scaled = plan;
    StretchHost(scaled, factor);
    return scale.Ms(scaled, replayer.Run(scaled).step_ns);
  };
  const double least = step_at(kMin), most = step_at(kMax);
  if (step_ms < least * (1 - kNoise)) {
    return Status::Usage(
        fmt::format("--measured-step-ms {}: even with a far faster host, the recorded work takes "
                    "{:.2f} ms per step; check that the measured step is of the same job (batch "
                    "size, precision, GPU) and is one step",
                    step_ms, least));
  }
  if (step_ms > most * (1 + kNoise)) {
    return Status::Usage(fmt::format(
        "--measured-step-ms {}: even with a host three times slower, the recorded work takes "
        "{:.2f} ms per step; check that the measured step is of the same job and is one step",
        step_ms, most));
  }
  // A measured step within the noise of the GPU's own work is GPU-bound. It only limits how slow
  // the host can be, so a host that is already faster keeps its speed.
  const double paced_by_gpu = least * (1 + kGpuNoise);
  const double target = std::max(step_ms, paced_by_gpu);
  if (step_ms <= paced_by_gpu && step_at(1) <= paced_by_gpu)
    return MeasuredStep{.host_factor = 1, .tells = false};
  double low = kMin, high = kMax;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = std::sqrt(low * high);
    (step_at(middle) <= target ? low : high) = middle;
  }
  return MeasuredStep{.host_factor = std::sqrt(low * high), .tells = true};
}

}  // namespace headroom
