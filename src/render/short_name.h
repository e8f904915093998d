// Names of kernels are C++ signatures of up to thousands of characters; a table has room for some
// forty.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "render/escape.h"

namespace headroom {

/// What a person needs of a kernel's signature: its name and the template arguments that say what
/// it computes.
///
///   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>,
///   std::array<char*, 3ul> >(int, ...) vectorized_elementwise_kernel<CUDAFunctor_add<float>>
///
/// Drops parameters, return type, lambda chains, numbers, and namespaces that say nothing. What is
/// not a signature, or not a sound one, comes back as it is.
std::string ReadableKernelName(std::string_view name);

/// Printable names for one table, each at most `width` columns wide. Names that differ stay
/// different: where shortening makes two alike, they keep their template arguments; where cutting
/// does, the cut moves to where they differ; as a last resort they are numbered ("... ~2").
/// `kernels`: shorten signatures first. REQUIRES: width >= 16.
std::vector<std::string> ShortNames(const std::vector<std::string_view>& names, std::size_t width,
                                    bool kernels, Charset charset);

}  // namespace headroom
