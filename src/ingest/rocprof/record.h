// The records of rocprofv3 and what stands beside them, as plain values. Each parser takes the
// value of its JSON at a cursor; what it does not know is passed over.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ingest/rocprof/json_cursor.h"

namespace headroom::rocprof {

/// "Not recorded": handles and numbers here have all 64 bits, and no real one has all of them set.
inline constexpr std::uint64_t kAbsent = UINT64_MAX;

/// One element of a list below "buffer_records", or a row of a database, whatever it is of.
struct Record {
  std::uint64_t kind = kAbsent, operation = kAbsent;  ///< Numbers of names below "strings".
  /// In a database: what these numbers stand for, and the text of a marker.
  StringId name, text;
  std::uint64_t thread = kAbsent;
  std::uint64_t correlation = kAbsent;
  std::uint64_t start = kAbsent, end = kAbsent;  ///< Nanoseconds.
  std::uint64_t stream = kAbsent;                ///< HIP's, as newer versions number it.
  // Of dispatches.
  std::uint64_t agent = kAbsent, queue = kAbsent, kernel = kAbsent;
  std::uint64_t group_bytes = kAbsent, private_bytes = kAbsent;
  std::array<std::uint64_t, 3> workgroup = {kAbsent, kAbsent, kAbsent};  ///< Threads.
  std::array<std::uint64_t, 3> grid = {kAbsent, kAbsent, kAbsent};       ///< Threads, too.
  // Of copies and allocations.
  std::uint64_t source = kAbsent, destination = kAbsent;  ///< Agents.
  std::uint64_t bytes = kAbsent;
  std::uint64_t address = kAbsent;
};
Record ParseRecord(JsonCursor& cursor);

/// One element of "agents".
struct Agent {
  static constexpr std::uint64_t kGpu = 2;
  std::uint64_t id = kAbsent;
  std::uint64_t type = kAbsent;
  std::uint64_t number = kAbsent;  ///< As rocprofv3 counts, CPUs included.
  std::uint64_t compute_units = kAbsent;
  std::uint64_t architecture = kAbsent;  ///< 90402 is gfx942.
  std::uint64_t memory_bytes = 0;
  std::string name, product;
};
Agent ParseAgent(JsonCursor& cursor);

/// One element of "kernel_symbols".
struct KernelSymbol {
  std::uint64_t id = kAbsent;
  std::uint64_t vector_registers = kAbsent, accumulators = kAbsent;  ///< Per thread.
  std::string name;  ///< Demangled where it is told.
};
KernelSymbol ParseKernelSymbol(JsonCursor& cursor);

/// One element of "buffer_records" below "strings": a kind of record and its operations, which
/// records name by their positions.
struct KindNames {
  std::string kind;
  std::vector<std::string> operations;
};
KindNames ParseKindNames(JsonCursor& cursor);

/// One element of a map from numbers to texts: {"key": 5, "value": "text"}.
std::pair<std::uint64_t, std::string> ParseText(JsonCursor& cursor);

/// One element of "counters".
struct CounterName {
  std::uint64_t id = kAbsent;
  std::string name;
};
CounterName ParseCounterName(JsonCursor& cursor);

/// One element of "counter_collection": the hardware counters of one dispatch.
struct DispatchCounters {
  Record dispatch;
  /// By id of the counter; not a number: not recorded. A counter has a value for each part of the
  /// GPU, which add up.
  std::vector<std::pair<std::uint64_t, double>> values;
};
DispatchCounters ParseDispatchCounters(JsonCursor& cursor);

/// The value of "metadata".
struct Metadata {
  std::uint64_t pid = kAbsent;
  std::string program;  ///< The first word of the command, without its folder.
};
Metadata ParseMetadata(JsonCursor& cursor);

}  // namespace headroom::rocprof
