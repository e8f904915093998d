// Counters over time: the machine while the job ran.
#pragma once

#include <string>
#include <vector>

#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// One row a counter, machine and instance, by name, then machine, GPU and instance. Which machine
/// is known where `headroom record --with host` made the recording. Every counter of the trace is
/// a metric; what is no number (NaN, infinite) is a missing sample. Means are weighted with time: a
/// stretch between two samples counts with the mean of both, one beside a missing sample does not.
std::vector<MetricRow> MetricTable(const TraceStore& store);

/// What the metrics, and points of category `headroom`, say about why a job was slow: a CPU quota
/// that throttled it, no processor or memory for it, a GPU that was slowed down, memory that ran
/// short, others on the machine. Empty if nothing was unusual.
std::vector<MachineNote> ExplainMachine(const TraceStore& store,
                                        const std::vector<MetricRow>& metrics);

}  // namespace headroom
