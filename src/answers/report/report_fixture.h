// A report filled by hand, for tests of the renderers. Every section has rows, and every optional
// value is set.
#pragma once

#include "analysis/values/report.h"
#include "ranks/job_ranks.h"

namespace headroom {

/// One rank of a host-bound language model on an H200. Sums and shares are consistent.
TraceReport DemoReport();

/// A trace with only host events: no GPU, no steps, no verdict.
TraceReport BareReport();

/// A job of two ranks on two hosts. Rank 1 delays rank 0.
JobRanks SlowRankOne();

/// A pipeline of two stages. Stage 1 computes longer.
Pipeline TwoStages(double imbalance);

}  // namespace headroom
