// A list of operators as torch.compile runs it.
#pragma once

#include "predict/operator_list.h"

namespace headroom {

/// Fuses the operators between products, convolutions and other library kernels, as TorchInductor
/// does. Consecutive operators become one kernel if one reads what the other writes, so their
/// intermediate results never reach memory. Each normalization, softmax, statistics and pooling
/// keeps its own kernel, with the elementwise work around it inside. In the backward, the
/// operators of a list run in reverse order. Sets how the host launches the list.
///
/// Assumes that only the next operator reads an intermediate result: the shapes of a list do not
/// show residual branches, whose results are written as well.
void FuseAsCompiled(OperatorList& list);

}  // namespace headroom
