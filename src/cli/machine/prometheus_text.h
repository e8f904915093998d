// Writes metrics in the text exposition format of Prometheus, version 0.0.4.
#pragma once

#include <string>
#include <vector>

#include "capture/metrics/board/metric.h"
#include "capture/metrics/gpu/gpu_probes.h"

namespace headroom::cli {

/// Names begin with `headroom_` and end in base units (ratio, bytes, seconds, watts, joules, hertz,
/// celsius). Writes a rate as its underlying counter (`..._total`), from which Prometheus computes
/// rates. Leaves out missing values.
std::string PrometheusText(const std::vector<Metric>& metrics, const Reading& reading,
                           const std::vector<GpuIdentity>& gpus);

}  // namespace headroom::cli
