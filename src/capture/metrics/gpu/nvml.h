// Reads NVIDIA GPUs through NVML, which is opened at run time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "capture/metrics/gpu/gpu_probes.h"

namespace headroom {

/// Opens the first of `libraries` that exists. Returns null if none exists or it finds no driver.
///
/// @param visible  CUDA_VISIBLE_DEVICES; nullopt: not set
std::unique_ptr<GpuSource> OpenNvml(const std::vector<std::string>& libraries,
                                    const std::optional<std::string>& visible);

}  // namespace headroom
