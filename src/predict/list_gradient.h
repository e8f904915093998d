// Gradients that the backward of a list of operators lacks.
#pragma once

#include "predict/operator_list.h"

namespace headroom {

/// Adds the gradients that fused attention cut off: lists of PyTorch's meta device may have such
/// attention in the forward, but lose the graph behind it. Then neither its own backward is listed
/// nor those gradients of products that pass through it. Counts them in OperatorList::added.
///
/// Leaves a list unchanged if it has a backward of attention, or fewer products in the backward
/// than in the forward: there, most layers are frozen.
void AddLostGradients(OperatorList& list);

}  // namespace headroom
