// A trace with its texts replaced: times, numbers and what joins rows stay.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "redact/text_redactor.h"
#include "store/trace_store.h"

namespace headroom {

/// How many rows' texts changed, by "table.column".
using ChangedColumns = std::map<std::string, std::int64_t>;

/// All rows, in their order. GPU names, process and thread numbers and the time at which the trace
/// begins stay. REQUIRES: `store` is frozen.
std::unique_ptr<TraceStore> RedactedTrace(const TraceStore& store, TextRedactor& redactor,
                                          ChangedColumns& changed);

/// The texts that a trace consists of, each once; `args` as they are kept.
std::vector<std::string_view> TextsOf(const TraceStore& store);

}  // namespace headroom
