// A second reader of profiler traces, for tests only: slow, obvious, whole file in memory, and
// nothing shared with the fast one but the meaning that src/store/tables.h gives to each column.
//
// It reads valid JSON; what to do with damage is tested in damage_test.cc.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/trace_store.h"

namespace headroom::testing {

/// A trace as text: one line a row, "column=value|...", ids spelled out, sorted; so two readers can
/// be compared whatever ids and row order they chose.
struct TraceDump {
  bool readable = false;  ///< False: not JSON, or no trace; then the rest is empty.
  std::map<std::string, std::vector<std::string>> tables;
};

/// What the slow reader makes of a whole file (decompressed).
TraceDump SlowRead(std::string_view json);

/// What a store holds, in the same words.
TraceDump Dump(const TraceStore& store);

/// The first differences, for a message; empty where the two agree.
std::string Difference(const TraceDump& slow, const TraceDump& fast);

}  // namespace headroom::testing
