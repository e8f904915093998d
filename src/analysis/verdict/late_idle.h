// Host work while the GPU waits for a launch.
#pragma once

#include <cstdint>

#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Time of one step in which the GPU waits for a launch, split by what the host does meanwhile.
/// Only the threads that launch the step's tasks count.
struct LateIdle {
  DurationNs all;
  DurationNs in_short_gaps;  ///< In gaps up to the length of a launch with its operator.

  // These sum to `all`. A moment belongs to the first kind that applies on any of the threads.
  DurationNs launches;   ///< In calls that launch.
  DurationNs calls;      ///< In other runtime and driver calls.
  DurationNs operators;  ///< In operators.
  DurationNs ranges;     ///< In annotations and Python frames that do not span the step.
  DurationNs nothing;    ///< Time without recorded events.

  /// The single event and the name with the most of this time. Excludes events nested inside, and
  /// times in which another thread is more specific. None() if nothing was recorded.
  HostEventId longest;
  DurationNs longest_time;
  StringId most_expensive;
  DurationNs most_expensive_time;
  std::int64_t most_expensive_count = 0;

  std::int64_t launch_calls = 0;  ///< Launch calls of the step, and their total length.
  DurationNs launch_time;
};

/// Measures the step in this row of steps.list. `late` holds the times in which the GPU waits for a
/// launch.
LateIdle MeasureLateIdle(const TraceStore& store, NameFacts& names, const StepAnalysis& steps,
                         std::size_t step, const IntervalSet& late);

}  // namespace headroom
