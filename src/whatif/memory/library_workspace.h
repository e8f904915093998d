// Memory that PyTorch keeps for the libraries of matrix products once one has run.
#pragma once

#include <cstddef>
#include <vector>

#include "whatif/job/step_operators.h"

namespace headroom {

struct LibraryWorkspace {
  double bytes = 0;
  std::size_t first_use = 0;  ///< Position of the operator that takes it; it is never given back.
};

/// cuBLAS' (hipBLAS') for each thread that runs products, as each has a handle of its own: of the
/// size that parseChosenWorkspaceSize() in PyTorch's aten/src/ATen/cuda/CublasHandlePool.cpp
/// chooses for the GPU; and cuBLASLt's, through which products with a bias go (CUDABlas.cpp). The
/// variable CUBLAS_WORKSPACE_CONFIG changes the first, which a trace does not tell.
std::vector<LibraryWorkspace> ProductWorkspaces(const Job& job, const StepOperators& step);

}  // namespace headroom
