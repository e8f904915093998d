// Versions of the software that a job ran on, as its trace tells them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

struct SoftwareVersion {
  std::string name;     ///< "pytorch", "python", "cuda_runtime", "hip_runtime", "nccl", ...
  std::string version;  ///< "2.7.1+cu128"

  bool operator==(const SoftwareVersion&) const = default;
};

/// Adds one, by name; the first of a name stays. What is no name (lower case, digits, '_') or no
/// version (more than 64 letters, or others than of versions) is passed over, and so is what a file
/// names beyond 16: a trace may hold anything.
void AddVersion(std::string_view name, std::string_view version,
                std::vector<SoftwareVersion>& versions);

/// "12.8" of 12080, as CUDA numbers its versions.
std::string CudaVersionText(std::int64_t number);
/// "6.4.43483" of 60443483, as HIP numbers its versions.
std::string HipVersionText(std::int64_t number);

}  // namespace headroom
