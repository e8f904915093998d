// A report filled by hand, for tests of the renderers: every section has rows, every optional value
// is there.
#pragma once

#include "analysis/values/report.h"
#include "ranks/job_ranks.h"

namespace headroom {

/// One rank of a host-bound language model on an H200, sums and shares consistent.
TraceReport DemoReport();

/// A trace of which nothing but its host events is known: no GPU, no steps, no verdict.
TraceReport BareReport();

/// A job of two ranks on two hosts; rank 1 holds rank 0 up.
JobRanks SlowRankOne();

/// Two stages; stage 1 computes longer.
Pipeline TwoStages(double imbalance);

}  // namespace headroom
