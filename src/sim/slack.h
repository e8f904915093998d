// How much later each task could come without the replayed step getting longer.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/schedule.h"

namespace headroom {

/// Total float of every task, in ns: by how much its start could be put off, all else as early as
/// it can, before the last GPU work of the replay comes later. At most one cycle; 0 on the critical
/// path. Of the cycle two before the last (or as many as there are), so that what a task lets the
/// cycles after it do counts, too. `replayer` has just run `plan`.
std::vector<std::int64_t> FindSlack(const Plan& plan, const Replayer& replayer);

}  // namespace headroom
