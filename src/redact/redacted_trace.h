// Copies a trace with its strings replaced. Keeps times, numbers and the keys that join rows.
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

/// Number of rows with changed strings, by "table.column".
using ChangedColumns = std::map<std::string, std::int64_t>;

/// Returns a copy with all rows in the same order. Keeps process and thread numbers, and the start
/// time of the trace. Requires a frozen `store`.
std::unique_ptr<TraceStore> RedactedTrace(const TraceStore& store, TextRedactor& redactor,
                                          ChangedColumns& changed);

/// Calls visit(text) for each string of a trace, including decoded strings in `args`. Skips numbers
/// of processes and threads. Can visit a string only once if it occurs in several columns.
void ForEachText(const TraceStore& store, const std::function<void(std::string_view)>& visit);

}  // namespace headroom
