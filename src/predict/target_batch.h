// Step time, throughput and memory over the batch size on another GPU.
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
  std::int64_t samples = 0;  ///< A step.
  PredictedMs step = {};
  double samples_per_s = 0;
  std::optional<double> memory_bytes = {};  ///< At the peak.
  /// The same were cuDNN's workspaces to stay as they are; none: they do not decide it.
  std::optional<double> memory_other_bytes = {};
  /// Whether what is reserved for it leaves kMemoryMargin of the GPU's memory; none: not known.
  std::optional<bool> fits = {};
  bool beyond = false;  ///< The peak alone is more than the GPU has.
};

struct TargetBatchCurve {
  std::int64_t recorded = 0;        ///< Samples a step of the job as it is.
  std::vector<TargetBatch> points;  ///< By samples, ascending.
  /// The least of those that fit from which on twice the batch never brings kWorthDoubling times
  /// the throughput; none: beyond the last of them.
  std::optional<std::int64_t> knee = {};
  /// Of those that fit, the one with the highest throughput; none: nothing fits, or nobody knows.
  std::optional<std::int64_t> best = {};
};

/// The recorded batch, its halves and doubles, and the largest that fits; nullopt where the trace
/// does not tell the samples of a step.
///
/// @param recorded_step  there, at the recorded batch
/// @param memory_bytes   of the GPU; none: not known
std::optional<TargetBatchCurve> CurveOnTarget(JobPredictor& predictor, const Job& job,
                                              const DeviceRates& target, double host_factor,
                                              const PredictedMs& recorded_step,
                                              const JobMemory& memory,
                                              std::optional<double> memory_bytes);

}  // namespace headroom
