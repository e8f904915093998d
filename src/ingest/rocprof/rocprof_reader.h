// Reads the JSON of ROCm's rocprofv3 (`rocprofv3 --output-format json`).
//
// The file has one object per process: its agents, texts, kernels, and below "buffer_records" a
// list for each kind of record. Lists and members are found by name, not by version; unknown ones
// are skipped. Reads dispatches, copies, API calls of HIP, HSA, RCCL and others, ranges of ROCTx,
// allocations and scratch memory; see docs/formats.md.
//
// Reads in one pass on one thread. In addition to the tables, only one element of a list is in
// memory at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ingest/input/byte_source.h"
#include "ingest/input/expansion_limit.h"
#include "store/trace_store.h"

namespace headroom::rocprof {

struct ReadOptions {
  int threads = 1;  ///< Threads for freezing the store, at least 1. Does not affect the result.
  /// Limits the texts that events refer to.
  ExpansionLimit expansion = {};
  /// Maximum size of a list element. Larger elements are skipped and counted, to bound memory. At
  /// least 1.
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Bytes per read, at least 1. Does not affect the result.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Called occasionally with the number of bytes read from the file; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Returns true if a file that begins with `head` is JSON of rocprofv3.
bool LooksLikeTrace(std::string_view head);

/// Reads a whole file into a store and freezes it. `path` appears only in messages. Damage is
/// recorded in the store's import log; reading resumes at the next record or list.
///
/// Fails with kBadInput if the device fails or the expansion limit is exceeded, and with
/// kEnvironment if memory runs out. After a failure the store is unusable. Requires an empty
/// `store`, and that LooksLikeTrace() accepts the first bytes.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::rocprof
