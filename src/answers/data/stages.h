// Rows of the report of `headroom data`, for JSON and text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "loader/loader_profile.h"
#include "loader/loading_forecast.h"

namespace headroom {

/// A row of the stage table. `name` is set only for kind "stage": the program chose it.
struct StageRow {
  std::string name;
  std::string kind;  ///< "stage", "sample", "collate", "batch", "send", "pin".
  std::int64_t count = 0;
  DurationNs total, own;
  std::optional<DurationNs> cpu;
  double per_sample_us = 0, share_pct = 0;
};

/// Returns all stages of a batch, most expensive first. Own times sum to the time of preparing,
/// sending and pinning all batches.
std::vector<StageRow> StageRows(const LoaderProfile& loader);

/// Returns the speedup in samples per second, or in steps per second if the batch size is unknown.
double SpeedupOf(const LoadingOutcome& outcome, const LoadingModel& recorded);

}  // namespace headroom
