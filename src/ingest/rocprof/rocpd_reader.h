// Reads the databases of ROCm's rocprofv3 (rocpd, in SQLite), its default format from ROCm 7 on.
//
// The id of a recording follows the names of its tables (`rocpd_region_0198...`). A file merged
// from several recordings has several tables of each kind, and ids are local to a recording. The
// views without that id are not evaluated. Tables and columns are found by name, not by version.
// Rows become the records of rocprofv3's JSON, which become rows of the store (row_writer.h); see
// docs/formats.md.
//
// Reads on one thread, in one pass over each table in file order. In addition to the tables, it
// keeps 24 bytes in memory for each row of `rocpd_event`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/input/database.h"
#include "ingest/input/expansion_limit.h"
#include "store/trace_store.h"

namespace headroom::rocprof {

struct RocpdOptions {
  int threads = 1;  ///< Threads for freezing the store, at least 1. Does not affect the result.
  /// Limits the texts that events refer to.
  ExpansionLimit expansion = {};
  std::int64_t file_bytes = 0;  ///< Bytes on disk if the database was compressed; else 0.
  /// Called occasionally with the number of bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Returns true if a database has tables of rocprofv3.
bool IsRocpd(const sqlite::Database& database);

/// Reads a whole database into a store and freezes it. `path` appears only in messages. Damage is
/// recorded in the store's import log.
///
/// Fails with kEnvironment if memory runs out; then the store is unusable. Requires an empty
/// `store` and IsRocpd().
Status ReadRocpd(const sqlite::Database& database, const std::string& path,
                 const RocpdOptions& options, TraceStore& store);

}  // namespace headroom::rocprof
