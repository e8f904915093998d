// Cost of a trainer's callbacks, per callback and event.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// A callback and the event that it handles.
struct CallbackName {
  std::string callback;
  std::string event;  ///< Empty if the name does not state it.
  bool operator==(const CallbackName&) const = default;
};

/// Parses the name of a callback's range in the forms that trainers write:
///   callbacks.ModelCheckpoint.on_epoch_end               the timers, Determined
///   [pl][profile][Callback]TQDMProgressBar.on_train_end  Lightning (state keys may contain dots)
///   Callback.on_train_batch_end                          others
/// The event is the text after the last dot, if it is an identifier.
CallbackName ReadCallbackName(std::string_view name);

/// Returns one row per callback and event, largest total first. Counts only the outermost of nested
/// entries. `share_pct` is a share of the time of the whole steps, so it excludes time outside
/// them.
std::vector<CallbackRow> CallbackTable(const TraceStore& store, NameFacts& names,
                                       const StepAnalysis& steps);

/// Returns the row with the most self time, or nullptr without rows.
const CallbackRow* MostExpensiveCallback(const std::vector<CallbackRow>& rows);

}  // namespace headroom
