#include "scale/stage_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace headroom {

Result<PipelineStages> StagesOfLayers(std::span<const LayerWork> layers, double layer_bytes,
                                      std::int64_t stages) {
  const auto count = static_cast<std::int64_t>(layers.size());
  if (stages > count)
    return Status::NoAnswer(fmt::format("{} stages of {} layers: give fewer", stages, count));
  std::vector<double> work;
  work.reserve(layers.size());
  LayerWork all;
  for (const LayerWork& layer : layers) {
    work.push_back(layer.work);
    all.work += layer.work;
    all.gradient_bytes += layer.gradient_bytes;
  }
  const std::vector<std::size_t> firsts =
      PartitionIntoStages(work, static_cast<std::size_t>(stages));
  LayerWork most;
  for (std::size_t stage = 0; stage < firsts.size(); ++stage) {
    const std::size_t end = stage + 1 < firsts.size() ? firsts[stage + 1] : layers.size();
    LayerWork sum;
    for (std::size_t layer = firsts[stage]; layer < end; ++layer) {
      sum.work += layers[layer].work;
      sum.gradient_bytes += layers[layer].gradient_bytes;
    }
    most.work = std::max(most.work, sum.work);
    most.gradient_bytes = std::max(most.gradient_bytes, sum.gradient_bytes);
  }
  PipelineStages found;
  if (all.work > 0) found.largest_share = most.work / all.work;
  found.gradient_bytes = most.gradient_bytes;
  if (all.gradient_bytes > 0) found.update_share = most.gradient_bytes / all.gradient_bytes;
  found.layer_bytes = layer_bytes;
  return found;
}

std::vector<std::size_t> PartitionIntoStages(std::span<const double> work, std::size_t stages) {
  const std::size_t layers = work.size();
  std::vector<double> until(layers + 1);  // Work of all layers before.
  for (std::size_t layer = 0; layer < layers; ++layer)
    until[layer + 1] = until[layer] + work[layer];
  // least[l]: of the best partition of the first l layers; begin[s][l]: where its last stage
  // begins.
  std::vector<double> least(until);
  std::vector<std::vector<std::size_t>> begin(stages, std::vector<std::size_t>(layers + 1));
  for (std::size_t stage = 1; stage < stages; ++stage) {
    std::vector<double> with_one_more(layers + 1, std::numeric_limits<double>::infinity());
    for (std::size_t end = stage + 1; end <= layers; ++end) {
      for (std::size_t cut = stage; cut < end; ++cut) {
        const double most = std::max(least[cut], until[end] - until[cut]);
        if (most >= with_one_more[end]) continue;
        with_one_more[end] = most;
        begin[stage][end] = cut;
      }
    }
    least = std::move(with_one_more);
  }
  std::vector<std::size_t> firsts(stages);
  for (std::size_t stage = stages, end = layers; stage-- > 1; end = firsts[stage])
    firsts[stage] = begin[stage][end];
  return firsts;
}

}  // namespace headroom
