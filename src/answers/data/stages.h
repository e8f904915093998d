// Rows of the report of `headroom data`, for both of its forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "loader/loader_profile.h"
#include "loader/loading_forecast.h"

namespace headroom {

/// What a stage is to a reader: names of stages are the program's, the others are ours.
struct StageRow {
  std::string name;
  std::string kind;  ///< "stage", "sample", "collate", "batch", "send", "pin".
  std::int64_t count = 0;
  DurationNs total, own;
  std::optional<DurationNs> cpu;
  double per_sample_us = 0, share_pct = 0;
};

/// Everything that a batch goes through in the order of what it costs; own times add up to the
/// time of all batches, and what is done to them afterwards.
std::vector<StageRow> StageRows(const LoaderProfile& loader);

/// How many times as many samples per second; of steps where the batch size is not known.
double SpeedupOf(const LoadingOutcome& outcome, const LoadingModel& recorded);

}  // namespace headroom
