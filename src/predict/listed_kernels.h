// Converts the kernels of a listed operator to work.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "predict/listed_row.h"
#include "predict/operator_list.h"

namespace headroom {

/// Facts about the earlier rows of a list on which later rows depend.
struct RowsBefore {
  std::string name;  ///< Name of the last row.
  /// Elements per result (InstructionKind::kFewChannels) of the forward's convolutions with few
  /// channels. The backward lists their gradients in the opposite order.
  std::vector<double> few_channels;
  std::size_t data_gradients = 0, weight_gradients = 0;  ///< Number of such gradients.
};

/// Adds the kernels of a row to a list, and the row to `before`. Fails with kBadInput and names the
/// row, the kernel and the fix. Kernels of unknown kinds are counted in `list`
/// (OperatorList::unpredicted).
Status AddListedKernels(const ListedRow& row, RowsBefore& before, OperatorList& list);

}  // namespace headroom
