// Calls that wait for the GPU, with the GPU idle time that each causes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/values/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// One blocking call with its cost.
struct PricedSync {
  HostEventId call;
  /// Starts when the GPU becomes idle, during or after the call. Lasts as long as the call kept the
  /// host from launching, but ends at the next task launched after the call. The GPU is idle
  /// throughout. May be empty. Intervals of successive calls do not overlap.
  Interval gpu_idle;
  bool is_stall = false;  ///< The idle time is a stall, see PriceSyncs().
};

/// Returns every call of `process` that blocks the host, in order of start; None() stands for all
/// processes. Blocking calls are explicit synchronizations, synchronous copies, and asynchronous
/// copy calls that return only after their copy on the GPU has ended (pageable memory).
std::vector<HostEventId> FindBlockingCalls(const TraceStore& store, NameFacts& names,
                                           ProcessId process);

/// Returns every blocking call with its cost, in order of start. The cost is the GPU idle time that
/// would vanish without the wait, at most the length of the call. Host work between the call and
/// the next launch takes the same time without the call. A call costs nothing in two cases:
/// * Nothing is launched after it (the end of the trace).
/// * The GPU continues, during or after it, with work that was launched before.
///
/// A call that waits for a copy of 4 KiB or more to the host brings data for host work. Operators
/// on the call's thread between the call and the next launch require that data, unless a loader
/// runs them. The GPU idles for them even without the call. Example: an optimizer on the CPU. A
/// smaller copy only reads a value (`.item()`).
///
/// A synchronous copy costs the longest stall within the call, if that stall lasts at least 1 ms
/// and at least as long as the idle time described above. In a stall the GPU idles although the
/// next task is already launched, and nothing else in the recording delays that task.
///
/// Only calls and tasks of `process` count; None() stands for all processes. `gpu_busy` holds the
/// times at which its tasks run. `held` holds GPU idle time after the next task was launched.
std::vector<PricedSync> PriceSyncs(const TraceStore& store, NameFacts& names,
                                   const Attribution& attribution, ProcessId process,
                                   const IntervalSet& gpu_busy, const IntervalSet& held);

/// Returns one row per call name and place (source line, else operator), most expensive first.
/// Omits calls that cost nothing.
///
/// @param median_step  the step that SyncRow::in_median_step covers; nullopt without steps
/// @param steps        the steps that SyncRow::in_mean_step covers, in order and without overlap
std::vector<SyncRow> SyncTable(const TraceStore& store, const Attribution& attribution,
                               const std::vector<PricedSync>& syncs,
                               std::optional<Interval> median_step,
                               std::span<const Interval> steps);

}  // namespace headroom
