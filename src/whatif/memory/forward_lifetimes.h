// The walk through a step's forward and update: the memory that each operator reads and writes.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "whatif/job/autograd_pairs.h"
#include "whatif/memory/lifetime_recorder.h"

namespace headroom {

/// A tensor that an operator, or a nested one, read.
struct Read {
  TensorArg tensor;
  std::size_t storage = 0;
};

/// Memory accesses of one operator, including nested ones.
struct Accesses {
  std::vector<Read> reads;           ///< Reads of each operator, the last argument first.
  std::vector<std::size_t> written;  ///< Storages in the order of the results.
};

/// Adds the tensors of the forward and the update.
///
/// @param weights  shapes of the job's parameters
/// @return accesses by position
std::vector<Accesses> WalkForward(LifetimeRecorder& recorder, const AutogradPairs& pairs,
                                  const std::set<std::vector<std::int64_t>>& weights);

}  // namespace headroom
