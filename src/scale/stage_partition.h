// Splits the layers of a model into pipeline stages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "scale/pipelined_job.h"

namespace headroom {

/// Work of one layer in forward and backward.
struct LayerWork {
  double work = 0;                     ///< In any unit.
  std::vector<double> gradients = {};  ///< Bytes of each parameter's gradient.
};

/// Splits layers into stages by work (PartitionIntoStages()) and returns shares and gradients.
/// Fails (kNoAnswer) if there are fewer layers than stages.
Result<PipelineStages> StagesOfLayers(std::span<const LayerWork> layers, std::int64_t stages);

/// Splits consecutive layers into `stages` stages, and returns the first layer of each stage.
/// Minimizes the work of the largest stage. REQUIRES: 1 <= stages <= work.size().
std::vector<std::size_t> PartitionIntoStages(std::span<const double> work, std::size_t stages);

}  // namespace headroom
