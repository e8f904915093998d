// Memory that PyTorch keeps for the matrix libraries (cuBLAS, cuBLASLt) after their first use.
#pragma once

#include <cstddef>
#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

struct LibraryWorkspace {
  double bytes = 0;
  std::size_t first_use = 0;  ///< Position of the operator that allocates it. It is never freed.
};

/// Returns two kinds of workspaces:
/// - cuBLAS (hipBLAS): one for each thread that runs products, because each has its own handle.
///   parseChosenWorkspaceSize() in PyTorch's aten/src/ATen/cuda/CublasHandlePool.cpp chooses its
///   size for the GPU.
/// - cuBLASLt: one, from the first product with a bias on (CUDABlas.cpp).
///
/// The environment variable CUBLAS_WORKSPACE_CONFIG changes the size of the cuBLAS workspaces, but
/// a trace does not record it.
std::vector<LibraryWorkspace> ProductWorkspaces(const Job& job, const StepOperators& step);

}  // namespace headroom
