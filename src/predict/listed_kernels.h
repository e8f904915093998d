// Converts the kernels of a listed operator to work.
#pragma once

#include "base/status.h"
#include "predict/listed_row.h"
#include "predict/operator_list.h"

namespace headroom {

/// Adds the kernels of a row to a list. Fails with kBadInput and names the row, the kernel and the
/// fix. Kernels of unknown kinds are counted in `list` (OperatorList::unpredicted).
Status AddListedKernels(const ListedRow& row, OperatorList& list);

}  // namespace headroom
