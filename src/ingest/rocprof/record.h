// The records of rocprofv3 and related data, as plain values. Each parser reads its JSON value at a
// cursor and skips unknown members.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ingest/rocprof/json_cursor.h"

namespace headroom::rocprof {

/// Means "not recorded". Handles and numbers have 64 bits, and no valid one has all bits set.
inline constexpr std::uint64_t kAbsent = UINT64_MAX;

/// One element of any list below "buffer_records", or a row of a database.
struct Record {
  std::uint64_t kind = kAbsent, operation = kAbsent;  ///< Indices of names below "strings".
  /// In a database: the name of the operation, and the text of a marker.
  StringId name, text;
  std::uint64_t thread = kAbsent;
  std::uint64_t correlation = kAbsent;
  std::uint64_t start = kAbsent, end = kAbsent;  ///< Nanoseconds.
  std::uint64_t stream = kAbsent;                ///< Number of the HIP stream in newer versions.
  // Dispatches only.
  std::uint64_t agent = kAbsent, queue = kAbsent, kernel = kAbsent;
  std::uint64_t group_bytes = kAbsent, private_bytes = kAbsent;
  /// Threads per workgroup, for x, y and z.
  std::array<std::uint64_t, 3> workgroup = {kAbsent, kAbsent, kAbsent};
  /// Threads in the whole grid, for x, y and z.
  std::array<std::uint64_t, 3> grid = {kAbsent, kAbsent, kAbsent};
  // Copies and allocations only.
  std::uint64_t source = kAbsent, destination = kAbsent;  ///< Agent ids.
  std::uint64_t bytes = kAbsent;
  std::uint64_t address = kAbsent;
};
Record ParseRecord(JsonCursor& cursor);

/// One element of "agents".
struct Agent {
  static constexpr std::uint64_t kGpu = 2;
  std::uint64_t id = kAbsent;
  std::uint64_t type = kAbsent;
  std::uint64_t number = kAbsent;  ///< Position in rocprofv3's list of agents, which includes CPUs.
  std::uint64_t compute_units = kAbsent;
  std::uint64_t architecture = kAbsent;  ///< For example 90402 for gfx942.
  std::uint64_t memory_bytes = 0;
  std::string name, product;
};
Agent ParseAgent(JsonCursor& cursor);

/// One element of "kernel_symbols".
struct KernelSymbol {
  std::uint64_t id = kAbsent;
  std::uint64_t vector_registers = kAbsent, accumulators = kAbsent;  ///< Registers per thread.
  std::string name;                                                  ///< Demangled if recorded.
};
KernelSymbol ParseKernelSymbol(JsonCursor& cursor);

/// One element of "buffer_records" below "strings": a kind of record and its operations, which
/// records refer to by position.
struct KindNames {
  std::string kind;
  std::vector<std::string> operations;
};
KindNames ParseKindNames(JsonCursor& cursor);

/// Reads one element of a map from numbers to texts: {"key": 5, "value": "text"}.
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
  /// Pairs of counter id and value; NaN if not recorded. A counter has a value for each part of the
  /// GPU; their sum is the total.
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
