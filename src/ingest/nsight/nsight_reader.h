// Reader for the SQLite export of NVIDIA Nsight Systems (`nsys export --type sqlite`).
//
// What is there is found by the names of tables and columns, never by a version: exports of other
// versions have other columns, and tables that would be empty are left out. Read are kernels,
// copies, sets, CUDA API calls, synchronizations, whole CUDA graphs, NVTX, OS runtime calls, GPU
// memory, sampled GPU metrics, names and devices; see docs/formats.md.
//
// One thread, a pass over each table in the order of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/database.h"
#include "ingest/input/expansion_limit.h"
#include "store/trace_store.h"

namespace headroom::nsight {

struct ReadOptions {
  int threads = 1;  ///< Of freezing the store, from 1 up; the result does not depend on it.
  /// Of texts that events refer to.
  ExpansionLimit expansion = {};
  std::int64_t file_bytes = 0;  ///< On disk, where the database was unpacked; 0: as it is.
  /// Called now and then with the bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole database into a store and freezes it. `path` is for messages only.
///
/// Damage is in the store's import log. Fails with kBadInput where no table is one of Nsight
/// Systems, with kEnvironment where memory runs out; then the store is of no use.
///
/// REQUIRES: `store` is empty.
Status Read(const sqlite::Database& database, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::nsight
