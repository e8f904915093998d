// A list of operators for one GPU of a tensor-parallel group.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "base/status.h"
#include "predict/operator_list.h"

namespace headroom {

/// A list of operators for one GPU, with the borders of layers as operator numbers.
struct ShardedList {
  OperatorList list;  ///< Work of one GPU.
  /// By operator: bytes that the group all-reduces after the operator's forward or backward.
  std::map<std::int64_t, double> forward_sums = {}, backward_sums = {};
  std::set<std::int64_t> layer_begins = {};  ///< First operators of the layers.
  double layer_bytes = 0;                    ///< Bytes that a layer passes to the next.
};

/// Splits the shards of FindTransformerLayers() over `ways` GPUs, at least 1: products by columns
/// or rows, all work between them by heads or columns. Fails (kNoAnswer) if there are no layers, or
/// if their width is not a multiple of `ways`.
Result<ShardedList> ShardList(const OperatorList& list, std::int64_t ways);

}  // namespace headroom
