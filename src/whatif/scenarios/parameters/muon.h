// The matrix products of Muon (Jordan et al., "Muon: An optimizer for hidden layers in neural
// networks", 2024): it orthogonalizes the momentum of each hidden matrix by five Newton-Schulz
// iterations in bfloat16.
#pragma once

#include <vector>

#include "cost/device_spec.h"
#include "cost/operator_call.h"
#include "whatif/job/job.h"

namespace headroom {

/// Returns a flag per parameter: true for the matrices that Muon updates. AdamW updates the others:
/// parameters of one dimension, tables of embeddings, and the head. The filters of a convolution
/// are one matrix, with a row per output channel.
///
/// A table is a parameter with the shape of a recorded embedding's first operand; there is one of
/// each shape, and a second one of the largest shape is the head. Without embeddings, the matrix
/// nearest the output is the head.
///
/// @param output_first  true if the parameters are sorted from the output of the network to its
/// input
std::vector<bool> MuonMatrices(const Job& job, const std::vector<TensorArg>& parameters,
                               bool output_first);

/// Returns the nanoseconds of each product of the iterations for one parameter, in order. With
/// m <= n, each iteration multiplies (m x n)(n x m), (m x m)(m x m) and (m x m)(m x n). Scaled sums
/// run inside the products. Returns an empty list if the GPU has no rate for bfloat16.
std::vector<double> NewtonSchulzNs(const TensorArg& parameter, const DeviceSpec& device);

}  // namespace headroom
