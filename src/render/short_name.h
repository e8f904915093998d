// Shortens kernel names. They are C++ signatures of up to thousands of characters; a table has room
// for about forty.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "render/escape.h"

namespace headroom {

/// Returns the readable part of a kernel's signature: its name and the template arguments that show
/// what it computes. For example, the first of these names becomes the second:
///
///   void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>,
///   std::array<char*, 3ul> >(int, ...)
///
///   vectorized_elementwise_kernel<CUDAFunctor_add<float>>
///
/// Drops parameters, return type, lambda chains, numbers, and common namespaces. Returns names that
/// are not valid signatures unchanged.
std::string ReadableKernelName(std::string_view name);

/// Returns printable names for one table, each at most `width` columns wide. Different names stay
/// different:
/// - If shortening makes two names equal, they keep their template arguments.
/// - If cutting makes two names equal, the cut moves so that their difference stays visible.
/// - Otherwise they are numbered ("... ~2").
///
/// `kernels` shortens C++ signatures first. REQUIRES: width >= 16.
std::vector<std::string> ShortNames(const std::vector<std::string_view>& names, std::size_t width,
                                    bool kernels, Charset charset);

}  // namespace headroom
