// Reads the tables of an Nsight Systems export. Each group of tables has one source file.
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

/// Reads the texts that rows refer to by ids. Call it first.
void ReadTexts(Reading& reading);
/// Reads devices, the clock, and the version of the exporting tool. Call it before ReadGpuTasks().
void ReadTarget(Reading& reading);
/// Reads the names of threads and processes. Call it after all events are read.
void ReadNames(Reading& reading);

// gpu_tables.cc

/// Reads kernels, memory copies and sets, and replays of CUDA graphs traced as a whole.
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
  /// Sets the threads' names from NVTX. Call it before ReadNames(), whose names win.
  void NameThreads();
  /// Ends ranges without an end at the end of the trace. Call it after all events are read.
  void Finish();

 private:
  /// Key of a domain: process id, domain number.
  using DomainKey = std::pair<std::int64_t, std::int64_t>;

  void Add(const sqlite::RowScan& row);
  void AddMark(TimeNs time, StringId name, ThreadId thread);
  void NameDomains();

  Reading& reading_;
  StringId operator_category_, range_category_, mark_category_;
  /// Reused buffer; a new string per operator would cost 3 % of the reading time.
  std::string shapes_;
  NamedRanges ranges_;
  std::vector<std::size_t> unfinished_;  ///< Rows of host events without an end.
  std::map<DomainKey, StringId> domains_;
  std::vector<std::pair<std::size_t, DomainKey>> in_domains_;
  std::vector<std::pair<std::int64_t, StringId>> thread_names_;
};

// memory_tables.cc

/// Reads allocations and frees of device memory. Call it after ReadCudaCalls().
void ReadMemory(Reading& reading);
/// Reads sampled metrics of GPUs.
void ReadMetrics(Reading& reading);

// diagnostics_table.cc

/// Adds the profiler's diagnostics to the import log.
void ReadDiagnostics(Reading& reading);

}  // namespace headroom::nsight
