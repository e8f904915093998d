// What the names of kernels tell in traces of ROCm's own tools.
#pragma once

#include <string_view>

#include "store/tables.h"

namespace headroom {

/// The name of a kernel without what says that the symbol is its descriptor: "gemm.kd", and
/// "gemm(float*) [clone .kd]" demangled, are gemm and gemm(float*).
constexpr std::string_view WithoutDescriptor(std::string_view name) {
  for (const std::string_view suffix : {" [clone .kd]", ".kd"}) {
    if (name.size() > suffix.size() && name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  return name;
}

/// What a kernel does: HIP fills and copies memory by kernels of its own.
constexpr GpuTaskKind KindOfRocmKernel(std::string_view name) {
  if (name.starts_with("__amd_rocclr_fill")) return GpuTaskKind::kMemset;
  return name.starts_with("__amd_rocclr_copy") ? GpuTaskKind::kMemcpy : GpuTaskKind::kKernel;
}

}  // namespace headroom
