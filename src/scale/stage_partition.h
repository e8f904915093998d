// Layers of a model as stages of a pipeline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "scale/pipelined_job.h"

namespace headroom {

/// What one layer does in forward and backward.
struct LayerWork {
  double work = 0;                     ///< In any unit.
  std::vector<double> gradients = {};  ///< Bytes of each parameter's.
};

/// Layers as stages by their work (PartitionIntoStages()): shares and gradients. Fails (kNoAnswer)
/// where there are fewer layers than stages.
Result<PipelineStages> StagesOfLayers(std::span<const LayerWork> layers, std::int64_t stages);

/// The first layer of each of `stages` stages of consecutive layers, so that the stage of most work
/// has least. REQUIRES: from 1 to as many stages as layers.
std::vector<std::size_t> PartitionIntoStages(std::span<const double> work, std::size_t stages);

}  // namespace headroom
