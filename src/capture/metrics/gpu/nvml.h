// Reads NVIDIA GPUs through NVML, which is opened at run time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/metrics/gpu/gpu_probes.h"

namespace headroom {

/// Returns null if the library is missing or finds no driver. `libraries`: uses the first that can
/// be opened. `visible`: CUDA_VISIBLE_DEVICES; nullopt: not set.
std::unique_ptr<GpuSource> OpenNvml(const std::vector<std::string>& libraries,
                                    const std::optional<std::string>& visible);

}  // namespace headroom
