// A trace with its texts replaced: times, numbers and what joins rows stay.
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

/// How many rows' texts changed, by "table.column".
using ChangedColumns = std::map<std::string, std::int64_t>;

/// All rows, in their order. Process and thread numbers and the time at which the trace begins
/// stay. REQUIRES: `store` is frozen.
std::unique_ptr<TraceStore> RedactedTrace(const TraceStore& store, TextRedactor& redactor,
                                          ChangedColumns& changed);

/// Calls visit(text) for each text of a trace, those in `args` among them as they are meant; not
/// for numbers of processes and threads. A text that is in several columns may come once.
void ForEachText(const TraceStore& store, const std::function<void(std::string_view)>& visit);

}  // namespace headroom
