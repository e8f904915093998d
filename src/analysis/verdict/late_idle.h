// What the host does while the GPU waits for it to launch.
#pragma once

#include <cstdint>

#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Idle of one step that ends with a launch, by what the threads that launch its work do meanwhile.
struct LateIdle {
  DurationNs all;
  DurationNs in_short_gaps;  ///< In gaps no longer than launches with their operators take.

  // They sum to `all`; a moment belongs to the first that holds on any of the threads.
  DurationNs launches;   ///< In calls that launch.
  DurationNs calls;      ///< In other runtime and driver calls.
  DurationNs operators;  ///< In operators.
  DurationNs ranges;     ///< In annotations and Python frames that do not span the step.
  DurationNs nothing;    ///< Nothing was recorded.

  /// What holds most of it by itself (without what it calls, and without what another thread says
  /// more about): the longest single event, and the name. None: nothing was recorded.
  HostEventId longest;
  DurationNs longest_time;
  StringId dearest;
  DurationNs dearest_time;
  std::int64_t dearest_count = 0;

  std::int64_t launch_calls = 0;  ///< Of the step, and their summed length.
  DurationNs launch_time;
};

/// `late`: when the GPU waits for a launch in the step of this row of steps.list.
LateIdle MeasureLateIdle(const TraceStore& store, NameFacts& names, const StepAnalysis& steps,
                         std::size_t step, const IntervalSet& late);

}  // namespace headroom
