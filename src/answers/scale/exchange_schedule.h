// `--schedule`: how ranks exchange gradients or parameters.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "scale/exchange_change.h"

namespace headroom {

/// Values of `--schedule`, for help and messages.
inline constexpr std::string_view kSchedules =
    "ddp, per-tensor, p3, dgc[:ratio=R], blueconnect, parameter-server[:servers=N], zero-1, "
    "zero-2, zero-3[:shard=GPUS] (fsdp) or local-sgd";

struct ExchangeSchedule {
  Schedule schedule = {};
  bool has_buckets = true;  ///< True if the size of a bucket has an effect.
  bool per_tensor = false;  ///< Each bucket has one gradient.
  bool local_sgd = false;   ///< Averages parameters, not gradients.

  /// Returns true for ZeRO: ranks share the training state, so every step must communicate.
  bool shards() const { return std::holds_alternative<ZeroSharding>(schedule); }
};

/// Parses a value of `--schedule`. Fails with kUsage, and lists the schedules.
Result<ExchangeSchedule> ParseSchedule(std::string_view text);

/// Returns the names of the schedules, without keys.
std::vector<std::string_view> ScheduleNames();

}  // namespace headroom
