// Reads kernel names in traces of ROCm's tools.
#pragma once

#include <string_view>

#include "store/tables.h"

namespace headroom {

/// Returns the name of a kernel without the suffix of its descriptor symbol: "gemm" for "gemm.kd",
/// "gemm(float*)" for the demangled "gemm(float*) [clone .kd]".
constexpr std::string_view WithoutDescriptor(std::string_view name) {
  for (const std::string_view suffix : {" [clone .kd]", ".kd"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  return name;
}

/// Returns the kind of a kernel: HIP has special kernels that fill and copy memory.
constexpr GpuTaskKind KindOfRocmKernel(std::string_view name) {
  if (name.starts_with("__amd_rocclr_fill")) return GpuTaskKind::kMemset;
  return name.starts_with("__amd_rocclr_copy") ? GpuTaskKind::kMemcpy : GpuTaskKind::kKernel;
}

}  // namespace headroom
