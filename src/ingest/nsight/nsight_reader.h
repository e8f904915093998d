// Reads the SQLite export of NVIDIA Nsight Systems (`nsys export --type sqlite`).
//
// Finds data by the names of tables and columns, not by version: versions differ in their columns,
// and omit empty tables. Reads kernels, memory copies and sets, CUDA API calls, synchronizations,
// CUDA graphs traced as a whole, NVTX, OS runtime calls, GPU memory, sampled GPU metrics, names and
// devices; see docs/formats.md.
//
// Reads on one thread, in one pass over each table in file order.
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
  int threads = 1;  ///< Threads for freezing the store, at least 1. Does not affect the result.
  /// Limits the texts that events refer to.
  ExpansionLimit expansion = {};
  std::int64_t file_bytes = 0;  ///< Bytes on disk if the database was compressed; else 0.
  /// Called occasionally with the number of bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Reads a whole database into a store and freezes it. `path` appears only in messages. Damage is
/// recorded in the store's import log.
///
/// Fails with kBadInput if the database has no Nsight Systems table, and with kEnvironment if
/// memory runs out. After a failure the store is unusable. Requires an empty `store`.
Status Read(const sqlite::Database& database, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::nsight
