// Copies a trace with its texts replaced. Times, numbers and the keys that join rows stay.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "redact/text_redactor.h"
#include "store/trace_store.h"

namespace headroom {

/// Number of rows with changed texts, by "table.column".
using ChangedColumns = std::map<std::string, std::int64_t>;

/// Returns a copy with all rows in their order. Process and thread numbers, and the start time of
/// the trace, stay. Requires a frozen `store`.
std::unique_ptr<TraceStore> RedactedTrace(const TraceStore& store, TextRedactor& redactor,
                                          ChangedColumns& changed);

/// Calls visit(text) for each text of a trace, including decoded texts in `args`. Skips numbers of
/// processes and threads. A text in several columns can be visited only once.
void ForEachText(const TraceStore& store, const std::function<void(std::string_view)>& visit);

}  // namespace headroom
