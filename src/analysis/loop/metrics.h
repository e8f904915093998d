// Counters over time: the state of the machine while the job ran.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Returns one row per counter, machine and instance, by name, then machine, GPU and instance. The
/// machine is known if `headroom record --with host` made the recording. Every counter of the trace
/// is a metric; a value that is not a number (NaN, infinite) is a missing sample.
///
/// Means are weighted by time. A span between two samples counts with their mean. A span next to a
/// missing sample does not count.
std::vector<MetricRow> MetricTable(const TraceStore& store);

/// Explains a slow job from the metrics and from instants of category `headroom`. Causes are CPU
/// throttling by a quota, too few CPU cores, waits for memory or files, a throttled GPU, low
/// memory, and other processes. Empty if nothing was unusual.
std::vector<MachineNote> ExplainMachine(const TraceStore& store,
                                        const std::vector<MetricRow>& metrics);

}  // namespace headroom
