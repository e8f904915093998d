#include "capture/metrics/gpu/gpu_probes.h"

#include <utility>

#include "capture/metrics/board/clock.h"

namespace headroom {

void GpuProbes::Read(SampleRun& run) {
  if (!pace_.Due(run.now) && !run.edge) return;
  const TimeNs begin = MonotonicNow();
  std::vector<Probe> left;
  left.reserve(probes_.size());
  bool lost = false;
  for (Probe& probe : probes_) {
    const GpuCall call = lost ? GpuCall::kLost : probe(run);
    lost |= call == GpuCall::kLost;
    if (call == GpuCall::kOk || call == GpuCall::kTransient) left.push_back(std::move(probe));
  }
  if (lost) left.clear();
  probes_ = std::move(left);
  pace_.Took(begin, MonotonicNow());
}

Metric GpuMetric(std::string name, std::string unit, std::string instance, std::string counter) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .scope = MetricScope::kDevice,
          .instance = std::move(instance),
          .counter = std::move(counter)};
}

}  // namespace headroom
