// Versions of the software that a job ran on, as its trace records them.
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

/// Adds a version unless its name already has one. Ignores:
/// - names with characters other than lower case letters, digits and '_';
/// - versions longer than 64 characters or with invalid characters;
/// - any beyond 16 in a file, because a trace may hold arbitrary data.
void AddVersion(std::string_view name, std::string_view version,
                std::vector<SoftwareVersion>& versions);

/// Returns "12.8" for 12080, as CUDA numbers its versions.
std::string CudaVersionText(std::int64_t number);
/// Returns "6.4.43483" for 60443483, as HIP numbers its versions.
std::string HipVersionText(std::int64_t number);

}  // namespace headroom
