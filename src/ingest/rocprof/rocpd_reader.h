// Reader for the databases of ROCm's rocprofv3 (rocpd, in SQLite), its default from ROCm 7 on.
//
// Tables have the id of a recording behind their names (`rocpd_region_0198...`): a file that was
// merged from several recordings has several tables of a kind, and numbers are a recording's own.
// The views without that id are not evaluated. Tables and columns are found by name, never by a
// version. Rows become the records of rocprofv3's JSON, and rows of the store as these do
// (row_writer.h); see docs/formats.md.
//
// One thread, a pass over each table in the order of the file; in memory, beside the tables, are 24
// bytes for each row of `rocpd_event`.
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
  int threads = 1;  ///< Of freezing the store, from 1 up; the result does not depend on it.
  /// Of texts that events refer to.
  ExpansionLimit expansion = {};
  std::int64_t file_bytes = 0;  ///< On disk, where the database was unpacked; 0: as it is.
  /// Called now and then with the bytes read so far; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Whether a database has tables of rocprofv3.
bool IsRocpd(const sqlite::Database& database);

/// Reads a whole database into a store and freezes it. `path` is for messages only.
///
/// Damage is in the store's import log. Fails with kEnvironment where memory runs out; then the
/// store is of no use.
///
/// REQUIRES: `store` is empty; IsRocpd().
Status ReadRocpd(const sqlite::Database& database, const std::string& path,
                 const RocpdOptions& options, TraceStore& store);

}  // namespace headroom::rocprof
