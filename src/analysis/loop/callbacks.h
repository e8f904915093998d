// What a trainer's callbacks cost: each callback on each event.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// A callback and the event that it answers.
struct CallbackName {
  std::string callback;
  std::string event;  ///< Empty: the name does not say.
  bool operator==(const CallbackName&) const = default;
};

/// Reads the name of a callback's range in the forms that trainers write:
///   callbacks.ModelCheckpoint.on_epoch_end               the timers, Determined
///   [pl][profile][Callback]TQDMProgressBar.on_train_end  Lightning (state keys may hold dots)
///   Callback.on_train_batch_end                          others
/// The event is what follows the last dot, if that is an identifier.
CallbackName ReadCallbackName(std::string_view name);

/// One row a callback and event, largest total first; of entries inside each other the outermost
/// counts. `share_pct` is of the whole steps: what runs outside of them is in no share.
std::vector<CallbackRow> CallbackTable(const TraceStore& store, NameFacts& names,
                                       const StepAnalysis& steps);

/// The row that holds most time by itself, not by what it calls; nullptr: there is none.
const CallbackRow* DearestCallback(const std::vector<CallbackRow>& rows);

}  // namespace headroom
