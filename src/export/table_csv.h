// Writes the tables of a trace as CSV (RFC 4180), with the columns that store/tables.h declares.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "store/trace_store.h"

namespace headroom {

/// Returns the names in the order of store/tables.h: "processes", "host_events", ...
std::vector<std::string_view> TableNames();

/// Takes the text in pieces; each piece ends with a line.
using TextSink = std::function<void(std::string_view piece)>;

/// Writes a header line, then one line per row. The first column is `id`, the row's number from 0,
/// which other tables refer to. An empty field means not recorded. Columns of times and sizes end
/// in their unit, `_ns` or `_bytes`. CsvField() quotes strings.
///
/// REQUIRES: `store` is frozen, `table` is one of TableNames().
void WriteTableCsv(const TraceStore& store, std::string_view table, const TextSink& sink);

}  // namespace headroom
