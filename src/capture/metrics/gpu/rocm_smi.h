// AMD GPUs through ROCm SMI, which is opened at run time.
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

/// The clock that is set in a `rsmi_frequencies_t`, in Hz; nullopt: none, or no such structure. Its
/// layout changed with ROCm 6.0, which put a flag before it; the library does not tell which one it
/// writes. `bytes` were zero before.
std::optional<std::uint64_t> CurrentFrequency(std::span<const std::uint32_t> words);

/// Null where the library is not there or finds no driver. `visible`: the first that is set of
/// ROCR_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES, all of which HIP reads.
std::unique_ptr<GpuSource> OpenRocmSmi(const std::vector<std::string>& libraries,
                                       const std::optional<std::string>& visible);

}  // namespace headroom
