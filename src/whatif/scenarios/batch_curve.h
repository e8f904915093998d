// Step time and throughput over the batch size, and its knee.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

/// The samples of a step: those of a recurrent operator, where there is one; else what most tensors
/// that are copied to the GPU begin with; without such copies, what most inputs of forward
/// operators begin with, biases aside. nullopt: no shapes were recorded.
std::optional<std::int64_t> SamplesPerStep(const Job& job);

/// One batch size.
struct BatchPoint {
  std::int64_t samples = 0;  ///< A step and GPU.
  double step_ms = 0;
  double samples_per_s = 0;  ///< Of all GPUs and jobs that the change brings.
  std::optional<std::int64_t> memory_delta_bytes;
  bool too_large = false;  ///< Surely beyond the GPU's memory (WhyNoRoom()).
};

/// Below this, a batch of twice the size is not worth its memory: what it brings in throughput.
inline constexpr double kWorthDoubling = 1.1;

struct BatchCurve {
  std::int64_t recorded = 0;       ///< Samples a step of the job as it is.
  std::vector<BatchPoint> points;  ///< By samples, ascending.
  /// The least of the points that fit from which on twice the batch never brings kWorthDoubling
  /// times the throughput; nullopt: beyond the last of them.
  std::optional<std::int64_t> knee;
};

/// The batch sizes of a curve: the recorded one, its halves down to a quarter and doubles up to 16
/// times, and one that was asked for.
std::vector<std::int64_t> BatchSizesOfCurve(std::int64_t recorded, std::int64_t asked);

/// @param points  ascending; throughput between them is interpolated over the logarithm of samples
std::optional<std::int64_t> FindKnee(std::vector<BatchPoint> points);

}  // namespace headroom
