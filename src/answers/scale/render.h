// The report of `headroom scale`: what a step takes on other numbers of GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "network/overlap_slowdown.h"
#include "render/text_page.h"
#include "scale/scaling_curve.h"

namespace headroom {

/// Points over one network.
struct ScaleCurve {
  std::string cluster;                        ///< Its name; empty: of flags.
  std::optional<double> bandwidth_gbps = {};  ///< Of flags.
  std::string description;                    ///< Of the network, in words.
  std::vector<ScalingPoint> points;
};

struct ScaleReport {
  std::string path;
  std::string no_answer;  ///< Why there is none; all else but the path is void then.
  bool strong = false;
  std::string schedule;             ///< As the user wrote it.
  std::int64_t exchange_every = 1;  ///< Steps from one exchange to the next.
  ModelParallel split;              ///< Of a replica's GPUs.
  std::string changes;              ///< The scenarios that were made before; empty: none.
  StepInterval step_ms;             ///< On one GPU, with those changes.
  std::int64_t recorded_gpus = 1;
  std::optional<std::int64_t> replayed_rank;  ///< Of several files; none: there was one.
  std::int64_t ranks = 0;                     ///< That are on one clock with that, itself included.
  std::string recorded_network;               ///< Between those, in words; empty: one GPU.
  /// Of kernels beside its collectives; nullopt: one GPU, or too few kernels ran both ways.
  std::optional<OverlapSlowdown> overlap;
  std::optional<std::int64_t> samples;   ///< A step of a GPU, as recorded.
  std::optional<double> gradient_bytes;  ///< A step.
  std::optional<double> deviation;       ///< Of the recorded steps, as a share.
  std::string source;       ///< "trace"; "loop" where the host is the device; or "operators".
  std::string gpu;          ///< Of "operators": whose models the times are of.
  std::string calibration;  ///< As of ForecastReport.
  std::string steps_note;
  std::vector<ScaleCurve> curves;
};

std::string RenderScaleText(const ScaleReport& report, const PageStyle& style);
/// headroom.scale/1.
std::string RenderScaleJson(const ScaleReport& report);

}  // namespace headroom
