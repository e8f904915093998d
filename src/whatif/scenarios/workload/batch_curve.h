// Step time and throughput over the batch size, and the knee of that curve.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

/// Returns the samples per step, from the first of these sources that exists:
/// 1. The batch of a recurrent operator.
/// 2. The most common leading extent of tensors copied to the GPU.
/// 3. The most common leading extent of inputs of forward operators, except biases.
///
/// Returns nullopt if no shapes were recorded.
std::optional<std::int64_t> SamplesPerStep(const Job& job);

/// One batch size.
struct BatchPoint {
  std::int64_t samples = 0;  ///< Samples per step and GPU.
  double step_ms = 0;
  double samples_per_s = 0;  ///< Total of all GPUs and jobs after the change.
  std::optional<std::int64_t> memory_delta_bytes;
  bool too_large = false;  ///< True if it certainly exceeds the GPU's memory (WhyNoRoom()).
};

/// Least gain in throughput for which a doubled batch is worth its memory.
inline constexpr double kWorthDoubling = 1.1;

struct BatchCurve {
  std::int64_t recorded = 0;       ///< Samples per step of the unchanged job.
  std::vector<BatchPoint> points;  ///< Sorted by samples.
  /// The smallest batch that fits and from which on no doubling raises the throughput by a factor
  /// of kWorthDoubling. nullopt if it is beyond the last point.
  std::optional<std::int64_t> knee;
};

/// Returns the batch sizes of a curve: the recorded and the requested size, whole halves of the
/// recorded size down to a quarter, and doubles up to 16 times.
std::vector<std::int64_t> BatchSizesOfCurve(std::int64_t recorded, std::int64_t asked);

/// Returns BatchCurve::knee. Interpolates the throughput over the logarithm of samples.
///
/// @param points  sorted by samples
std::optional<std::int64_t> FindKnee(std::vector<BatchPoint> points);

}  // namespace headroom
