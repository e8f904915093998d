// The repeated blocks of a network, e.g. the layers of a transformer: stretches of the forward
// whose operators and shapes recur one after the other.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "whatif/job/operators.h"

namespace headroom {

/// One execution of a block in the forward of a step.
struct Block {
  std::vector<LaunchingOperator> operators;  ///< In order of launch.
};

/// What it costs to begin a block right behind an operator.
using CutCost = std::function<double(const LaunchingOperator& before)>;

/// The blocks of all steps, in order. A block has at least two matrix products or convolutions and
/// comes at least twice in a row; where several lengths repeat, that which covers most. Where the
/// operators around a stretch of blocks are like theirs, the blocks may begin at several of them.
///
/// @param cost  decides where they do: the least sum over all cuts; none: as early as they may
std::vector<Block> FindBlocks(const Job& job, const CutCost& cost = {});

/// A stretch of `period * count` elements from `first` on, in which each period is like the next.
struct Repeat {
  std::size_t first = 0, period = 0, count = 0;
  std::size_t later = 0;  ///< By up to so many elements, the stretch may as well begin later.
};

/// Stretches that do not overlap, the longest first.
///
/// @param weights  by token; a period whose weights sum to less than two is none
std::vector<Repeat> FindRepeats(const std::vector<std::size_t>& tokens,
                                const std::vector<int>& weights);

}  // namespace headroom
