// A trace file that turned out to be an SQLite database.
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "ingest/byte_source.h"
#include "ingest/nsight/nsight_reader.h"
#include "store/trace_store.h"

namespace headroom::nsight {

/// Reads the database at `path` into a store. SQLite needs a file to jump about in: what is
/// compressed, or comes through a pipe, is first written to a temporary file, which is nameless by
/// the time it is read.
///
/// @param bytes           the file from its beginning, decompressed; read only where it is needed
/// @param max_text_bytes  longer values end the reading of their table
///
/// Fails as Read() does, and with kInternal where the temporary file cannot be written.
Status ReadFile(const std::string& path, ByteSource& bytes, std::int64_t max_text_bytes,
                const ReadOptions& options, TraceStore& store);

}  // namespace headroom::nsight
