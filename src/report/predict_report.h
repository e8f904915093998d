// The report of `headroom predict`: what a step takes on other GPUs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/kernel_table.h"
#include "report/escape.h"

namespace headroom {

/// The job as it was recorded.
struct PredictBaseline {
  std::string trace;
  PredictedMs step;             ///< Without the profiler.
  double host_ms = 0;           ///< Step were every GPU task done in no time.
  double gpu_ms = 0;            ///< Step were the host infinitely fast.
  double ratio_only_share = 0;  ///< Of GPU time: kernels without shapes, carried over by ratios.
};

/// One step on one GPU.
struct PredictedTarget {
  std::string workload;  ///< The trace, or a step of a list of operators; empty: the only one.
  std::string gpu, full_name;
  PredictedMs step;
  std::optional<double> speedup = {};
  std::optional<double> gpu_memory_bytes = {};
  bool extrapolated = false;
  std::string why = {};
  /// Other GPUs of the same workload whose step cannot be told from this one.
  std::vector<std::string> ties = {};
};

struct PredictReport {
  std::optional<std::string> source_gpu;
  std::vector<PredictBaseline> baselines;  ///< One a trace; none of lists of operators.
  std::vector<PredictedTarget> targets;    ///< Workload by workload, in the order asked for.
  std::string constants;                   ///< Where the models' constants come from.
};

/// headroom.predict/1, docs/predict.md.
std::string RenderPredictJson(const PredictReport& report);
std::string RenderPredictText(const PredictReport& report, bool color, Charset charset);

}  // namespace headroom
