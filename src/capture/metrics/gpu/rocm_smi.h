// Reads AMD GPUs through ROCm SMI, which is opened at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/metrics/gpu/gpu_probes.h"

namespace headroom {

/// Returns the current clock of a `rsmi_frequencies_t`, in Hz; nullopt if there is none or the
/// structure is invalid. ROCm 6.0 changed its layout: a flag comes first. The library does not
/// report its layout. `words` were zero before the call.
std::optional<std::uint64_t> CurrentFrequency(std::span<const std::uint32_t> words);

/// Returns null if the library is missing or finds no driver. `visible`: the first that is set of
/// ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES. HIP reads all three.
std::unique_ptr<GpuSource> OpenRocmSmi(const std::vector<std::string>& libraries,
                                       const std::optional<std::string>& visible);

}  // namespace headroom
