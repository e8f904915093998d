#include "predict/target_batch.h"

#include <algorithm>
#include <cmath>

#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {

std::optional<TargetBatchCurve> CurveOnTarget(JobPredictor& predictor, const Job& job,
                                              const DeviceRates& target, double host_factor,
                                              const PredictedMs& recorded_step,
                                              const JobMemory& memory,
                                              std::optional<double> memory_bytes) {
  const std::optional<std::int64_t> recorded = SamplesPerStep(job);
  if (!recorded || *recorded <= 0) return std::nullopt;
  const auto samples_recorded = static_cast<double>(*recorded);
  const double room = memory_bytes.value_or(0) * (1 - kMemoryMargin);
  std::int64_t largest = *recorded;
  if (memory_bytes) {
    const std::optional<double> ratio = memory.LargestBatch(room);
    const double samples = std::floor(ratio.value_or(0) * samples_recorded);
    if (samples >= 1) largest = static_cast<std::int64_t>(samples);
  }
  TargetBatchCurve curve{.recorded = *recorded, .points = {}};
  std::vector<BatchPoint> points;
  constexpr double kMsPerS = 1e3;
  for (const std::int64_t samples : BatchSizesOfCurve(*recorded, largest)) {
    const double ratio = static_cast<double>(samples) / samples_recorded;
    TargetBatch at{.samples = samples,
                   .step = predictor.StepAtBatch(target, host_factor, ratio, recorded_step),
                   .samples_per_s = 0};
    if (at.step.mid <= 0) continue;
    // More samples never take less time, even if the growth of the step is uncertain.
    if (!curve.points.empty())
      at.step.low = std::min(at.step.mid, std::max(at.step.low, curve.points.back().step.low));
    at.samples_per_s = kMsPerS * static_cast<double>(samples) / at.step.mid;
    at.memory_bytes = memory.PeakAt(ratio);
    if (memory.WorkspaceDecides(ratio))
      at.memory_other_bytes = memory.PeakAt(ratio, Workspaces::kStay);
    bool too_large = false;
    if (at.memory_bytes && memory_bytes) {
      const double grown = *memory.TakenAt(ratio);
      const double stayed =
          at.memory_other_bytes ? *memory.TakenAt(ratio, Workspaces::kStay) : grown;
      too_large = std::max(grown, stayed) > room;
      if (!too_large || std::min(grown, stayed) > room) at.fits = !too_large;
      at.beyond = std::min(*at.memory_bytes, at.memory_other_bytes.value_or(*at.memory_bytes)) >
                  *memory_bytes;
    }
    points.push_back({.samples = samples,
                      .step_ms = at.step.mid,
                      .samples_per_s = at.samples_per_s,
                      .memory_delta_bytes = {},
                      .too_large = too_large});
    curve.points.push_back(at);
  }
  for (std::size_t i = curve.points.size(); i-- > 1;) {
    PredictedMs& fewer = curve.points[i - 1].step;
    fewer.high = std::max(fewer.mid, std::min(fewer.high, curve.points[i].step.high));
  }
  curve.knee = FindKnee(std::move(points));
  double best = 0;
  for (const TargetBatch& at : curve.points) {
    if (at.fits != true || at.samples_per_s <= best) continue;
    best = at.samples_per_s;
    curve.best = at.samples;
  }
  return curve;
}

}  // namespace headroom
