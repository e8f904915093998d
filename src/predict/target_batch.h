// Step time, throughput and memory by batch size on another GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/device_rates.h"
#include "predict/job_memory.h"
#include "predict/job_prediction.h"

namespace headroom {

/// One batch size on one GPU.
struct TargetBatch {
  std::int64_t samples = 0;  ///< Samples per step.
  PredictedMs step = {};
  double samples_per_s = 0;
  std::optional<double> memory_bytes = {};  ///< Bytes at the peak.
  /// The same bytes if cuDNN's workspaces keep their size; nullopt if the workspaces do not matter.
  std::optional<double> memory_other_bytes = {};
  /// True if the reserved bytes leave kMemoryMargin of the GPU's memory free; nullopt if unknown.
  std::optional<bool> fits = {};
  bool beyond = false;  ///< True if the peak alone exceeds the GPU's memory.
};

struct TargetBatchCurve {
  std::int64_t recorded = 0;        ///< Samples per step in the recorded job.
  std::vector<TargetBatch> points;  ///< In ascending order of samples.
  /// The smallest batch that fits, and beyond which doubling never multiplies the throughput by
  /// kWorthDoubling. nullopt if that batch is larger than all points.
  std::optional<std::int64_t> knee = {};
  /// The batch that fits with the highest throughput; nullopt if none fits or the memory is
  /// unknown.
  std::optional<std::int64_t> best = {};
};

/// Returns the recorded batch, its halves and doubles, and the largest that fits. Returns nullopt
/// if the trace does not show the samples per step.
///
/// @param recorded_step  predicted step at the recorded batch
/// @param memory_bytes   memory of the GPU; nullopt if unknown
std::optional<TargetBatchCurve> CurveOnTarget(JobPredictor& predictor, const Job& job,
                                              const DeviceRates& target, double host_factor,
                                              const PredictedMs& recorded_step,
                                              const JobMemory& memory,
                                              std::optional<double> memory_bytes);

}  // namespace headroom
