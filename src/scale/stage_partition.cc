#include "scale/stage_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace headroom {
namespace {

double BytesOf(const std::vector<double>& gradients) {
  return std::accumulate(gradients.begin(), gradients.end(), 0.0);
}

}  // namespace

Result<PipelineStages> StagesOfLayers(std::span<const LayerWork> layers, std::int64_t stages) {
  const auto count = static_cast<std::int64_t>(layers.size());
  if (stages > count)
    return Status::NoAnswer(
        fmt::format("{} stages for {} layers: use fewer stages", stages, count));
  std::vector<double> work;
  work.reserve(layers.size());
  double all_work = 0, all_bytes = 0;
  for (const LayerWork& layer : layers) {
    work.push_back(layer.work);
    all_work += layer.work;
    all_bytes += BytesOf(layer.gradients);
  }
  const std::vector<std::size_t> firsts =
      PartitionIntoStages(work, static_cast<std::size_t>(stages));
  PipelineStages found;
  double most_work = 0, most_bytes = -1;
  for (std::size_t stage = 0; stage < firsts.size(); ++stage) {
    const std::size_t end = stage + 1 < firsts.size() ? firsts[stage + 1] : layers.size();
    double stage_work = 0;
    std::vector<double> gradients;
    for (std::size_t layer = firsts[stage]; layer < end; ++layer) {
      stage_work += layers[layer].work;
      gradients.insert(gradients.end(), layers[layer].gradients.begin(),
                       layers[layer].gradients.end());
    }
    most_work = std::max(most_work, stage_work);
    if (BytesOf(gradients) <= most_bytes) continue;
    most_bytes = BytesOf(gradients);
    found.gradients = std::move(gradients);
  }
  if (all_work > 0) found.largest_share = most_work / all_work;
  if (all_bytes > 0) found.update_share = most_bytes / all_bytes;
  return found;
}

std::vector<std::size_t> PartitionIntoStages(std::span<const double> work, std::size_t stages) {
  // Returns the first layers of stages with at most `limit` work, filled in order. Leaves at least
  // one layer for each remaining stage.
  const auto fill = [&](double limit) {
    std::vector<std::size_t> firsts = {0};
    double sum = 0;
    for (std::size_t layer = 0; layer < work.size(); ++layer) {
      const bool must = firsts.size() < stages && work.size() - layer <= stages - firsts.size();
      const bool full = sum + work[layer] > limit;
      if (layer > 0 && (must || full)) {
        firsts.push_back(layer);
        sum = 0;
      }
      sum += work[layer];
    }
    return firsts;
  };
  double low = 0, high = 0;
  for (const double layer : work) {
    low = std::max(low, layer);
    high += layer;
  }
  constexpr int kHalvings = 60;  // More halvings do not change a double.
  for (int i = 0; i < kHalvings && low < high; ++i) {
    const double limit = low + (high - low) / 2;
    (fill(limit).size() <= stages ? high : low) = limit;
  }
  return fill(high);
}

}  // namespace headroom
