// Names of CUDA functions as Nsight Systems writes them.
#pragma once

#include <string_view>

namespace headroom::nsight {

/// Returns the name of a CUDA function without its interface version: "cudaLaunchKernel" for
/// "cudaLaunchKernel_v7000" and "cudaLaunchKernel_ptsz_v7000". The driver's _v2 is part of the
/// name.
std::string_view FunctionName(std::string_view name);

}  // namespace headroom::nsight
