// Operators that compute on the CPU: their self times, and edits by operator.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "cost/operator_cost.h"
#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// Time of an operator on the CPU without work, in ns: dispatch and allocation of the result.
/// PyTorch 2 takes 1 to 3 us on current server cores.
inline constexpr double kDispatchNs = 2'000;

/// Reason for no answer if a job on the CPU has no operators of known cost.
inline constexpr std::string_view kNoOperatorsOnCpu =
    "operators with shapes were not recorded; record them with torch.profiler "
    "(ProfilerActivity.CPU, record_shapes=True)";

/// Host time of each event outside nested events, in ns; by row of host events.
std::vector<double> SelfTimes(const Job& job);

/// Returns the cost of the work in an event's self time: its own cost, or that of the innermost
/// costed operator around it. nullptr if unknown.
const OperatorCost* CostOfSelfTime(const Job& job, HostEventId event);

/// Returns the factor on a self time whose work, all but the dispatch, takes `ratio` of its time.
double WithDispatch(double self_ns, double ratio);

/// Returns the rate at which operators move bytes that caches do not hold, in bytes per ns: the
/// median over recorded elementwise operators on at least 4 MiB. nullopt if there are none.
std::optional<double> RecordedBandwidth(const Job& job, const std::vector<double>& self_ns);

/// Multiplies the self time of each event by its factor. Returns the number of events with a factor
/// other than 1.
std::int64_t ScaleSelfTimes(const Job& job, const std::vector<double>& factors, Edit& edit);

}  // namespace headroom
