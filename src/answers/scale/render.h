// The report of `headroom scale`: step times at other GPU counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "network/overlap_slowdown.h"
#include "render/text_page.h"
#include "scale/scaling_curve.h"

namespace headroom {

/// Forecasts for one network.
struct ScaleCurve {
  std::string cluster;                        ///< Name of the cluster; empty if flags describe the
                                              ///< network.
  std::optional<double> bandwidth_gbps = {};  ///< Set if flags describe the network.
  std::string description;                    ///< Description of the network.
  std::vector<ScalingPoint> points;
};

struct ScaleReport {
  std::string path;
  /// Why there is no answer; empty if there is one. If set, only `path` and the values of the
  /// question are valid.
  std::string no_answer;
  bool strong = false;
  std::string schedule;             ///< As the user wrote it.
  std::int64_t exchange_every = 1;  ///< Steps from one exchange to the next.
  ModelParallel split;              ///< Tensor and pipeline parallelism within a replica.
  std::string changes;   ///< Value of --with: scenarios that were applied first; empty without any.
  StepInterval step_ms;  ///< Step on one GPU, with `changes`.
  ScalingLimit limit = ScalingLimit::kGpu;  ///< Limit of that step.
  std::int64_t recorded_gpus = 1;
  std::optional<std::int64_t> replayed_rank;  ///< Rank that was replayed; absent for a single file.
  std::int64_t ranks = 0;  ///< Number of ranks with aligned clocks, including the replayed one.
  std::string recorded_network;  ///< Network between the recorded GPUs, in words;
                                 ///< empty for one GPU.
  /// Slowdown of kernels during collectives. Absent for one GPU, or if too few kernels ran both
  /// during collectives and alone.
  std::optional<OverlapSlowdown> overlap;
  std::optional<std::int64_t> samples;   ///< Samples per step and GPU, as recorded.
  std::optional<double> gradient_bytes;  ///< Gradients of a step, in bytes; absent if unknown.
  std::optional<double> deviation;       ///< Deviation of the recorded steps, as a share of their
                                         ///< median; absent for too few steps.
  double assumed_deviation = 0;          ///< Used instead of an absent `deviation`.
  std::string source;       ///< "trace", "operators", or "loop" if the host is the device.
  std::string gpu;          ///< GPU that the times are modelled for if `source` is "operators".
  std::string calibration;  ///< As in ForecastReport.
  std::string steps_note;
  std::vector<ScaleCurve> curves;
};

std::string RenderScaleText(const ScaleReport& report, const PageStyle& style);
/// Returns headroom.scale/1.
std::string RenderScaleJson(const ScaleReport& report);

}  // namespace headroom
