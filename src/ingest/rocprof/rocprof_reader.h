// Reader for the JSON of ROCm's rocprofv3 (`rocprofv3 --output-format json`).
//
// One object a process: what it ran on, texts, kernels, and below "buffer_records" a list for each
// kind of record. Lists and members are found by name, never by a version; those that are not known
// are passed over. Read are dispatches, copies, API calls of HIP, HSA, RCCL and others, ranges of
// ROCTx, allocations and scratch memory; see docs/formats.md.
//
// One thread, one pass; in memory is one element of a list at a time, beside the tables.
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
  int threads = 1;  ///< Of freezing the store, from 1 up; the result does not depend on it.
  /// Of texts that events refer to.
  ExpansionLimit expansion = {};
  /// Larger elements of lists are skipped and counted, to bound memory. From 1 up.
  std::int64_t max_event_bytes = std::int64_t{64} << 20;
  /// Bytes that are read at once, from 1 up; the result does not depend on it.
  std::size_t chunk_bytes = std::size_t{1} << 20;
  /// Called now and then with the bytes taken from the file; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Whether a file that begins so is such a JSON.
bool LooksLikeTrace(std::string_view head);

/// Reads a whole file into a store and freezes it. `path` is for messages only.
///
/// Damage is in the store's import log; reading goes on at the next record or list. Fails with
/// kBadInput where the device fails or the expansion limit is passed, with kEnvironment where
/// memory runs out; then the store is of no use.
///
/// REQUIRES: `store` is empty; LooksLikeTrace() of the first bytes.
Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store);

}  // namespace headroom::rocprof
