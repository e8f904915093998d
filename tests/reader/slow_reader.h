// A second reader of profiler traces, for tests only. It is slow and simple, and loads the whole
// file. It shares nothing with the fast reader except the column definitions in src/store/tables.h.
//
// It reads valid JSON. damage_test.cc tests damaged files.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_store.h"

namespace headroom::testing {

/// A trace as text: one line "column=value|..." per row, with ids spelled out, sorted. Two readers
/// can be compared even if they choose different ids and row orders.
struct TraceDump {
  bool readable = false;  ///< False if the file is not JSON or not a trace. The rest is then empty.
  std::map<std::string, std::vector<std::string>> tables;
};

/// Reads a whole decompressed file with the slow reader.
TraceDump SlowRead(std::string_view json);

/// Returns the contents of a store in the same form.
TraceDump Dump(const TraceStore& store);

/// Returns the first differences for a message, or an empty text.
std::string Difference(const TraceDump& slow, const TraceDump& fast);

}  // namespace headroom::testing
