// `--schedule`: how ranks exchange what they have in common.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "scale/exchange_change.h"

namespace headroom {

/// What `--schedule` takes, for help and messages.
inline constexpr std::string_view kSchedules =
    "ddp, per-tensor, p3, dgc[:ratio=R], blueconnect, parameter-server[:servers=N], zero-1, "
    "zero-2, zero-3 (fsdp) or local-sgd";

struct ExchangeSchedule {
  Schedule schedule = {};
  bool has_buckets = true;  ///< Whether the size of a bucket says anything.
  bool per_tensor = false;  ///< Buckets of one gradient.
  bool local_sgd = false;   ///< Parameters are averaged, not gradients.

  /// Whether the parts of a step are shared out, so that each step exchanges something.
  bool shards() const { return std::holds_alternative<ZeroStage>(schedule); }
};

/// Fails (kUsage) with what there is.
Result<ExchangeSchedule> ParseSchedule(std::string_view text);

/// Names of what it takes, without keys.
std::vector<std::string_view> ScheduleNames();

}  // namespace headroom
