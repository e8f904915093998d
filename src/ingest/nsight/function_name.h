// Names of CUDA functions as Nsight Systems writes them.
#pragma once

#include <string_view>

namespace headroom::nsight {

/// The name of a CUDA function without the version of its interface: "cudaLaunchKernel_v7000" and
/// "cudaLaunchKernel_ptsz_v7000" are cudaLaunchKernel. The driver's own _v2 belongs to the name.
std::string_view FunctionName(std::string_view name);

}  // namespace headroom::nsight
