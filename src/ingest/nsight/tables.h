// The readers of the tables of an export of Nsight Systems, a file a group of tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "ingest/input/database.h"
#include "ingest/names/range_names.h"
#include "ingest/nsight/reading.h"

namespace headroom::nsight {

// target_tables.cc

/// Reads the texts that rows name by ids. First.
void ReadTexts(Reading& reading);
/// Reads devices, the clock, and which version wrote this. Before GPU tasks.
void ReadTarget(Reading& reading);
/// Reads the names of threads and processes. After all events.
void ReadNames(Reading& reading);

// gpu_tables.cc

/// Reads kernels, copies, sets, and replays of graphs that were recorded whole.
void ReadGpuTasks(Reading& reading);
void ReadSyncs(Reading& reading);

// call_tables.cc

/// Reads calls of CUDA's runtime and driver.
void ReadCudaCalls(Reading& reading);
void ReadOsCalls(Reading& reading);

// nvtx_table.cc

/// Reads ranges and marks, and the names that NVTX gives to threads.
class NvtxTable {
 public:
  explicit NvtxTable(Reading& reading);

  void Read();
  /// Gives threads the names that NVTX has for them. Before ReadNames(), whose names hold.
  void NameThreads();
  /// Ranges without an end go on to the end of the trace. After all events.
  void Finish();

 private:
  /// A domain by process and number.
  using DomainKey = std::pair<std::int64_t, std::int64_t>;

  void Add(const sqlite::RowScan& row);
  void AddMark(TimeNs time, StringId name, ThreadId thread);
  void NameDomains();

  Reading& reading_;
  StringId operator_category_, range_category_, mark_category_;
  std::string shapes_;  ///< Scratch.
  NamedRanges ranges_;
  std::vector<std::size_t> unfinished_;  ///< Rows of host events.
  std::map<DomainKey, StringId> domains_;
  std::vector<std::pair<std::size_t, DomainKey>> in_domains_;
  std::vector<std::pair<std::int64_t, StringId>> thread_names_;
};

// memory_tables.cc

/// Reads allocations and frees of device memory. After the calls that made them.
void ReadMemory(Reading& reading);
/// Reads sampled metrics of GPUs.
void ReadMetrics(Reading& reading);

// diagnostics_table.cc

/// Takes over into the log what the profiler reported.
void ReadDiagnostics(Reading& reading);

}  // namespace headroom::nsight
