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

/// Returns the current clock of a `rsmi_frequencies_t`, in Hz; nullopt if it states none or is
/// invalid. ROCm 6.0 put a flag first, and the library does not report which layout it uses.
/// REQUIRES: `words` were zero before the library filled them.
std::optional<std::uint64_t> CurrentFrequency(std::span<const std::uint32_t> words);

/// Opens the first of `libraries` that exists. Returns null if none exists or it finds no driver.
///
/// @param visible  first of ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES that
///     is set; HIP reads all three
std::unique_ptr<GpuSource> OpenRocmSmi(const std::vector<std::string>& libraries,
                                       const std::optional<std::string>& visible);

}  // namespace headroom
