// A list of operators as one GPU of a tensor-parallel group runs it.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/status.h"
#include "predict/operator_list.h"

namespace headroom {

/// Where a list's operators are cut, by their numbers.
struct ShardedList {
  OperatorList list;  ///< What one GPU does.
  /// Bytes that the group sums behind an operator's forward, or behind its backward.
  std::map<std::int64_t, double> forward_sums = {}, backward_sums = {};
  std::set<std::int64_t> layer_begins = {};  ///< Operators with which a layer begins.
  double layer_bytes = 0;                    ///< Of what a layer hands to the next.
};

/// Shares out what FindTransformerLayers() finds over `ways` GPUs, 1 or more: products by columns
/// or rows, all between them by heads or columns. Fails (kNoAnswer) where no layers are found, or
/// their width is no multiple of `ways`.
Result<ShardedList> ShardList(const OperatorList& list, std::int64_t ways);

}  // namespace headroom
