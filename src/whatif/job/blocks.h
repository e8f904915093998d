// The repeated blocks of a network, such as the layers of a transformer: stretches of the forward
// with recurring operators and shapes.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "whatif/job/operators.h"

namespace headroom {

/// One execution of a block in the forward of a step.
struct Block {
  std::vector<LaunchingOperator> operators;  ///< Sorted by launch.
};

/// Returns the cost of beginning a block right after an operator.
using CutCost = std::function<double(const LaunchingOperator& before)>;

/// Returns the blocks of all steps, in order. A block has at least two matrix products or
/// convolutions and occurs at least twice in a row. If several lengths repeat, uses the one that
/// covers the most operators. If the operators around a stretch of blocks match those inside, the
/// blocks may begin at several positions.
///
/// @param cost  chooses the position with the smallest sum over all cuts; if empty, the blocks
/// begin at the earliest position
std::vector<Block> FindBlocks(const Job& job, const CutCost& cost = {});

/// A stretch of `period * count` elements from `first` on. Each period equals the next.
struct Repeat {
  std::size_t first = 0, period = 0, count = 0;
  std::size_t later = 0;  ///< The stretch may also begin up to this many elements later.
};

/// Returns stretches that do not overlap, the longest first.
///
/// @param weights  weight of each token; a period counts only if its weights sum to at least two
std::vector<Repeat> FindRepeats(const std::vector<std::size_t>& tokens,
                                const std::vector<int>& weights);

}  // namespace headroom
