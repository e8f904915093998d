// The tables of a trace as CSV (RFC 4180), with the columns that store/tables.h declares.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "store/trace_store.h"

namespace headroom {

/// In the order of store/tables.h: "processes", "host_events", ...
std::vector<std::string_view> TableNames();

/// Takes the text piece by piece; a piece ends with a line.
using TextSink = std::function<void(std::string_view piece)>;

/// A header line, then a line a row. The first column is `id`, the row's number from 0, by which
/// other tables refer to it; what is not recorded is an empty field. Columns of times and sizes end
/// in their unit, `_ns` or `_bytes`. Texts are written as CsvField() does.
///
/// REQUIRES: `store` is frozen, `table` is one of TableNames().
void WriteTableCsv(const TraceStore& store, std::string_view table, const TextSink& sink);

}  // namespace headroom
