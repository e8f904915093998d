// Computes how much later each task could start without lengthening the replayed step.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule.h"

namespace headroom {

/// Returns the total float of every task in ns, if all other tasks start as early as possible. If a
/// task starts later by more than its float, the replay's last GPU work ends later. The float is at
/// most one cycle, and 0 on the critical path.
///
/// Analyzes the cycle two before the last, or the first if there are fewer, so that effects on
/// later cycles count.
///
/// REQUIRES: `replayer` has just run `plan`.
std::vector<std::int64_t> FindSlack(const Plan& plan, const Replayer& replayer);

}  // namespace headroom
