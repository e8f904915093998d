// Calls that wait for the GPU, priced by the GPU idle that they cause.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/values/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// One blocking call with its price.
struct PricedSync {
  HostEventId call;
  /// From the moment in or after the call at which the GPU is dry, as long as the call kept the
  /// host from launching; no further than the next task launched after it. The GPU is idle all
  /// along. May be empty. Those of successive calls do not overlap.
  Interval gpu_idle;
  bool is_stall = false;  ///< The idle time is a stall, see PriceSyncs().
};

/// Every call of `process` (none: all) that blocks the host, in order of start: explicit
/// synchronizations, synchronous copies, and asynchronous copies that outlast their own GPU copy
/// (pageable memory).
std::vector<HostEventId> FindBlockingCalls(const TraceStore& store, NameFacts& names,
                                           ProcessId process);

/// Every blocking call, in order of start. Its price is what the GPU
/// would not idle if the host had not waited: at most the length of the call. What the host does
/// between the call and the next launch costs that time with or without the call. A call after
/// which nothing is launched (the end of the trace) costs nothing, and neither does one during or
/// after which the GPU goes on with work that was launched before.
///
/// A call that waits for a copy of 4 KiB or more to the host brings data that the host works on:
/// operators between the call and the next launch, on its thread and not of a loader, cannot begin
/// earlier without the call, so the GPU idles for them anyway (an optimizer on the CPU). A smaller
/// copy is a value that is read (`.item()`).
///
/// A synchronous copy costs the longest stall within it, if that is longer and lasts at least 1 ms.
/// In a stall the GPU idles although the next task is launched, and nothing else in the recording
/// delays that task.
///
/// Only calls and tasks of `process` count (none: all); `gpu_busy` is when its tasks run, `held`
/// when the GPU is idle although the next task was launched.
std::vector<PricedSync> PriceSyncs(const TraceStore& store, NameFacts& names,
                                   const Attribution& attribution, ProcessId process,
                                   const IntervalSet& gpu_busy, const IntervalSet& held);

/// The calls by name and place, most expensive first; free ones are left out.
///
/// @param median_step  whose idle is also counted apart; none: there are no steps
/// @param steps        the same of their mean; in order, without overlap
std::vector<SyncRow> SyncTable(const TraceStore& store, const Attribution& attribution,
                               const std::vector<PricedSync>& syncs,
                               std::optional<Interval> median_step,
                               std::span<const Interval> steps);

}  // namespace headroom
